-- A catalog that version 0.2.0 wrote to PostgreSQL.
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.memberships (
    number integer NOT NULL,
    trial_id character varying(12) NOT NULL,
    placed_at character varying(32),
    plan text NOT NULL,
    title text NOT NULL,
    plan_source text NOT NULL,
    overrides text NOT NULL,
    suite character varying(12) NOT NULL,
    "position" integer NOT NULL,
    variant text NOT NULL,
    reference text,
    iteration integer NOT NULL,
    data_size_bytes bigint NOT NULL,
    tag text NOT NULL,
    published text,
    criteria text NOT NULL,
    size_kind text NOT NULL
);
CREATE SEQUENCE public.memberships_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.memberships_number_seq OWNED BY public.memberships.number;
CREATE TABLE public.runs (
    number integer NOT NULL,
    id character varying(12) NOT NULL,
    state character varying(16) NOT NULL,
    plan text NOT NULL,
    title text NOT NULL,
    plan_source text NOT NULL,
    options text NOT NULL,
    trials text NOT NULL,
    owner text NOT NULL,
    message text NOT NULL,
    cancel_requested integer NOT NULL,
    created_at character varying(32) NOT NULL,
    queued_at character varying(32) NOT NULL,
    started_at character varying(32),
    ended_at character varying(32),
    host text NOT NULL,
    pid integer NOT NULL,
    process_start text NOT NULL
);
CREATE SEQUENCE public.runs_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_number_seq OWNED BY public.runs.number;
CREATE TABLE public.tags (
    trial_id character varying(12) NOT NULL,
    tag character varying(64) NOT NULL
);
CREATE TABLE public.trash (
    attempt integer NOT NULL,
    trial_id character varying(12) NOT NULL,
    deleted_at character varying(32) NOT NULL
);
CREATE TABLE public.trials (
    attempt integer NOT NULL,
    id character varying(12) NOT NULL,
    status character varying(16) NOT NULL,
    message text NOT NULL,
    plan text NOT NULL,
    title text NOT NULL,
    plan_source text NOT NULL,
    overrides text NOT NULL,
    suite character varying(12) NOT NULL,
    "position" integer NOT NULL,
    variant text NOT NULL,
    reference text,
    iteration integer NOT NULL,
    data_size_bytes bigint NOT NULL,
    tag text NOT NULL,
    run_spec text NOT NULL,
    published text,
    criteria text DEFAULT '[]'::text NOT NULL,
    size_kind text DEFAULT 'data'::text NOT NULL,
    backend text NOT NULL,
    backend_version text DEFAULT ''::text NOT NULL,
    engine_version text NOT NULL,
    observed text DEFAULT '{}'::text NOT NULL,
    record_version integer NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    process_start text NOT NULL,
    folder text NOT NULL,
    tables text,
    digests text,
    started_at character varying(32) NOT NULL,
    ended_at character varying(32),
    summary text,
    results text,
    engine text,
    machine text NOT NULL
);
CREATE SEQUENCE public.trials_attempt_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.trials_attempt_seq OWNED BY public.trials.attempt;
ALTER TABLE ONLY public.memberships ALTER COLUMN number SET DEFAULT nextval('public.memberships_number_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN number SET DEFAULT nextval('public.runs_number_seq'::regclass);
ALTER TABLE ONLY public.trials ALTER COLUMN attempt SET DEFAULT nextval('public.trials_attempt_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0010');
INSERT INTO public.memberships VALUES (1, '000000000000', '2026-11-29T04:00:03.193591+00:00', 'small', 'A small all-to-all', '
fabricbench: 1
name: small
title: A small all-to-all
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep:
  data_size: [1MB, 2MB]
', '[]', 'feedfeedfeed', 0, 'base', NULL, 0, 1048576, 'old', NULL, '[]', 'data');
INSERT INTO public.runs VALUES (2, '6fc00cfc9c3a', 'queued', 'p2', 't', '', '{"count":1}', '[]', '', '', 0, '2026-11-29T04:00:03.973903+00:00', '2026-11-29T04:00:03.973903+00:00', NULL, NULL, '', 0, '');
INSERT INTO public.runs VALUES (1, '1f93a2c4252e', 'running', 'p', 't', '', '{"count":1}', '[]', '', '', 0, '2026-11-29T04:00:03.943257+00:00', '2026-11-29T04:00:03.943257+00:00', '2026-11-29T04:00:04.021945+00:00', NULL, 'host1', 2121, 'boot:1');
INSERT INTO public.tags VALUES ('000000000000', 'old');
INSERT INTO public.tags VALUES ('000000000001', 'user');
INSERT INTO public.trash VALUES (3, '000000000002', '2026-11-29T04:00:03.916604+00:00');
INSERT INTO public.trials VALUES (2, '000000000001', 'complete', '', 'small', 'A small all-to-all', '
fabricbench: 1
name: small
title: A small all-to-all
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep:
  data_size: [1MB, 2MB]
', '[]', 'feedfeedfeed', 1, 'base', NULL, 0, 1048576, 'old', '{"fabric":{"topology":{"host_link":{"cable":{"delay_ps":15000},"rate_bps":400000000000},"hosts":8,"kind":"single-switch"}},"jobs":[{"algorithm":"parallel","arrivals":null,"collective":"all-to-all","data_bytes":1048576,"hosts":[0,1,2,3],"name":"test","repeat":{"kind":"rounds","rounds":1},"root":0,"start_ps":0,"step_overhead_ps":0,"stream":0}],"schema_version":1,"seed":1,"transport":{"mtu_bytes":4096}}', NULL, '[]', 'data', 'fake', '0.0.1', '0.0.1', '{"chunks":{"at":"endpoint","unmeasured":[]},"connections":{"at":"endpoint","unmeasured":[]},"events":{"at":"fabric","unmeasured":[]},"links":{"at":"fabric","unmeasured":[]},"paths":{"at":"fabric","unmeasured":[]},"ports":{"at":"fabric","unmeasured":[]},"priorities":{"at":"fabric","unmeasured":[]},"reordering":{"at":"endpoint","unmeasured":[]},"series":{"at":"fabric","unmeasured":[]}}', 1, 'host1', 2121, 'boot:1', '.000000000001.177e84d4b55c.partial', NULL, '{"chunks":"3c22c45d12777195e73ccb8768c16c7cc9582b924e49d5563a2af51dbd70f002","connections":"94c231687770b135d995d033bab4615c04c18809b312ba399f2c110b455b7a0e","events":"e94dd1181702a6af82e2d89e5f70189ade8142c4503986465c4632759c54d959","links":"4d7f5a63a48f39cdfafb5258541d4282ce2958abc59283f2698fe5562aa62088","paths":"e9efef2b77c6290ca4397c74ba43baa77127c3e722d528c185dd86c974d46fa5","ports":"21e74154161f539e124247164de1c4bc790f12243602af38acfd01000f9986fa","priorities":"f7bb1d3a58aa0a264dc7964e186ac7d3ffe90277be0a0352b6400d4bdd10d455","reordering":"6f6f873423f623a7a0eb1c7dc19ce1d1ab624c3d0425f3850add2e6ab3ebff03","series":"af0fd22e3905e673bda9f784751e4904b54f2c99222384d6bc78ead671153930","trials":"d730fafe16105450d3c2febfae5b76e275ac4ac6e670b25da4ed4081a6980831"}', '2026-11-29T04:00:03.236251+00:00', '2026-11-29T04:00:03.411251+00:00', '{"end_ps":15739641,"frames_delivered":98,"frames_in_flight":0,"frames_lost":{"buffer_full":2},"frames_sent":100,"jobs":[{"chunks":12,"chunks_complete":12,"chunks_failed":0,"end_ps":15739641,"name":"test","reason":"","rounds":1,"start_ps":0,"status":"complete"}],"status":"complete","window_ps":1000}', '[{"algbw_gb_per_s":66.62007094062692,"algorithm":"parallel","busbw_gb_per_s":49.965053205470184,"busbw_gb_per_s_max":49.965053205470184,"busbw_gb_per_s_min":49.965053205470184,"chunks":12,"chunks_complete":12,"chunks_failed":0,"cnp_tx":0,"collective":"all-to-all","completion_time_ms":0.015739641,"data_size_bytes":1048576,"delivered_gb_per_s":null,"ecn_ce_rx":0,"fct_mean_ms":0.015734141,"fct_ms_max":0.015739641,"fct_ms_min":0.015728641,"fct_ms_p50":0.015733641,"fct_ms_p95":0.015739641,"fct_ms_p99":0.015739641,"fct_ms_p999":0.015739641,"frames_lost":2,"id":"000000000001","ideal_percent":101.93066029905003,"iops":null,"iteration":0,"jain_fairness":0.999999952,"job":"test","latency_us_max":4.0,"latency_us_mean":3.0,"latency_us_min":2.0,"link_load_max_to_mean":1.5,"offered_gb_per_s":null,"operation_us_max":null,"operation_us_mean":null,"operation_us_min":null,"operation_us_p50":null,"operation_us_p95":null,"operation_us_p99":null,"operation_us_p999":null,"out_of_order_percent":0.0,"pfc_rx":6,"plan":"small","queue_max_bytes":7000,"rank_ms_max":null,"rank_ms_mean":null,"rank_ms_min":null,"ranks":4,"reason":"","retransmits":0,"round_ms_max":0.015739641,"round_ms_min":0.015739641,"rounds":1,"slowdown_max":null,"slowdown_mean":null,"slowdown_p50":null,"slowdown_p95":null,"slowdown_p99":null,"status":"complete","storage_gb_per_s":null,"variant":"base"}]', '{"cpu_s":0.015519635999226011,"events":50,"exact_windows":1,"fast_forward_ps":0,"fast_windows":10,"packet_hops":400,"peak_rss_bytes":1048576,"threads":1,"wall_s":0.015519635999226011}', '{"architecture":"x86_64","cpus":2,"host":"host1","python":"3.11.7","system":"Linux 6.18.44-fc-v595"}');
INSERT INTO public.trials VALUES (3, '000000000002', 'complete', '', 'small', 'A small all-to-all', '
fabricbench: 1
name: small
title: A small all-to-all
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep:
  data_size: [1MB, 2MB]
', '[]', 'feedfeedfeed', 2, 'base', NULL, 0, 1048576, 'old', '{"fabric":{"topology":{"host_link":{"cable":{"delay_ps":15000},"rate_bps":400000000000},"hosts":8,"kind":"single-switch"}},"jobs":[{"algorithm":"parallel","arrivals":null,"collective":"all-to-all","data_bytes":1048576,"hosts":[0,1,2,3],"name":"test","repeat":{"kind":"rounds","rounds":1},"root":0,"start_ps":0,"step_overhead_ps":0,"stream":0}],"schema_version":1,"seed":1,"transport":{"mtu_bytes":4096}}', NULL, '[]', 'data', 'fake', '0.0.1', '0.0.1', '{"chunks":{"at":"endpoint","unmeasured":[]},"connections":{"at":"endpoint","unmeasured":[]},"events":{"at":"fabric","unmeasured":[]},"links":{"at":"fabric","unmeasured":[]},"paths":{"at":"fabric","unmeasured":[]},"ports":{"at":"fabric","unmeasured":[]},"priorities":{"at":"fabric","unmeasured":[]},"reordering":{"at":"endpoint","unmeasured":[]},"series":{"at":"fabric","unmeasured":[]}}', 1, 'host1', 2121, 'boot:1', '.000000000002.616dcce6e414.partial', NULL, '{"chunks":"d44cfa22e11d645939fd878c15da570bbac7dc8e6febc7adeef8601e20f244e7","connections":"eeb5d1e8c49c34d9b11c21e256f98d69f62feb7f6840afd42ed788a0ad775d5a","events":"22d9d4912902fe1b2d908b5a9b26d1177340b1e73fa6169a0ad3bdeca33e7ded","links":"dfef14f90a2bdb2fbeefe5099c227746214d446d1c649b2c3b392fd302c8e20e","paths":"a0638b85858e652abcf1985e541eb8ca76095c8ee24920440e41217193a31997","ports":"064d52789c00852d370556db6faec5c16565946b5a704889fd25f6d265ae308f","priorities":"f57fec7d91a9c5e5a6332a6107433523a634560f6656be439d381c30f5bbd033","reordering":"cd0d17d1da5c8134ad67c5a131c3854753bd8a508f94e59b8f6867f2f5f3ae70","series":"35351e5b8df79f8445a50072ee25adb9710e47194174cb9a43705fb7d5fef489","trials":"fec8377a76c7aad006e46b9770a831ebc8143165753810273f98a6385304150e"}', '2026-11-29T04:00:03.437761+00:00', '2026-11-29T04:00:03.602371+00:00', '{"end_ps":15739641,"frames_delivered":98,"frames_in_flight":0,"frames_lost":{"buffer_full":2},"frames_sent":100,"jobs":[{"chunks":12,"chunks_complete":12,"chunks_failed":0,"end_ps":15739641,"name":"test","reason":"","rounds":1,"start_ps":0,"status":"complete"}],"status":"complete","window_ps":1000}', '[{"algbw_gb_per_s":66.62007094062692,"algorithm":"parallel","busbw_gb_per_s":49.965053205470184,"busbw_gb_per_s_max":49.965053205470184,"busbw_gb_per_s_min":49.965053205470184,"chunks":12,"chunks_complete":12,"chunks_failed":0,"cnp_tx":0,"collective":"all-to-all","completion_time_ms":0.015739641,"data_size_bytes":1048576,"delivered_gb_per_s":null,"ecn_ce_rx":0,"fct_mean_ms":0.015734141,"fct_ms_max":0.015739641,"fct_ms_min":0.015728641,"fct_ms_p50":0.015733641,"fct_ms_p95":0.015739641,"fct_ms_p99":0.015739641,"fct_ms_p999":0.015739641,"frames_lost":2,"id":"000000000002","ideal_percent":101.93066029905003,"iops":null,"iteration":0,"jain_fairness":0.999999952,"job":"test","latency_us_max":4.0,"latency_us_mean":3.0,"latency_us_min":2.0,"link_load_max_to_mean":1.5,"offered_gb_per_s":null,"operation_us_max":null,"operation_us_mean":null,"operation_us_min":null,"operation_us_p50":null,"operation_us_p95":null,"operation_us_p99":null,"operation_us_p999":null,"out_of_order_percent":0.0,"pfc_rx":6,"plan":"small","queue_max_bytes":7000,"rank_ms_max":null,"rank_ms_mean":null,"rank_ms_min":null,"ranks":4,"reason":"","retransmits":0,"round_ms_max":0.015739641,"round_ms_min":0.015739641,"rounds":1,"slowdown_max":null,"slowdown_mean":null,"slowdown_p50":null,"slowdown_p95":null,"slowdown_p99":null,"status":"complete","storage_gb_per_s":null,"variant":"base"}]', '{"cpu_s":0.013512063000234775,"events":50,"exact_windows":1,"fast_forward_ps":0,"fast_windows":10,"packet_hops":400,"peak_rss_bytes":1048576,"threads":1,"wall_s":0.013512063000234775}', '{"architecture":"x86_64","cpus":2,"host":"host1","python":"3.11.7","system":"Linux 6.18.44-fc-v595"}');
INSERT INTO public.trials VALUES (4, '000000000000', 'complete', '', 'other', 'A small all-to-all', '
fabricbench: 1
name: small
title: A small all-to-all
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep:
  data_size: [1MB, 2MB]
', '[]', 'beefbeefbeef', 0, 'base', NULL, 0, 1048576, '', '{"fabric":{"topology":{"host_link":{"cable":{"delay_ps":15000},"rate_bps":400000000000},"hosts":8,"kind":"single-switch"}},"jobs":[{"algorithm":"parallel","arrivals":null,"collective":"all-to-all","data_bytes":1048576,"hosts":[0,1,2,3],"name":"test","repeat":{"kind":"rounds","rounds":1},"root":0,"start_ps":0,"step_overhead_ps":0,"stream":0}],"schema_version":1,"seed":1,"transport":{"mtu_bytes":4096}}', NULL, '[]', 'data', 'fake', '0.0.1', '0.0.1', '{"chunks":{"at":"endpoint","unmeasured":[]},"connections":{"at":"endpoint","unmeasured":[]},"events":{"at":"fabric","unmeasured":[]},"links":{"at":"fabric","unmeasured":[]},"paths":{"at":"fabric","unmeasured":[]},"ports":{"at":"fabric","unmeasured":[]},"priorities":{"at":"fabric","unmeasured":[]},"reordering":{"at":"endpoint","unmeasured":[]},"series":{"at":"fabric","unmeasured":[]}}', 1, 'host1', 2121, 'boot:1', '.000000000000.430e93b401f7.partial', NULL, '{"chunks":"a346f153cbb322373789ca79a9951dc9f21bee4b9304b7b1e42fde49f5c40d62","connections":"c302eb2042d9003d1d7a15b74b4b6a8dfd9259c8a2bb9c821067eac586f821e8","events":"5e1f92f75ab0a019cffd485f671dc0aee55eefd10474cf003a17a44d4a6f6627","links":"eccbf13ea3336210b59494d766dd746075f3d42310f29aca43df4647cb3420a5","paths":"9c42d3ed74936c42bc9127b96175635b6e0d11859f4d8c5fc19d8d6338ac0095","ports":"b8b2a0ec4e835201c052ab77bbf28bb260a10693b9edd73d593fa8c3fa73b6b3","priorities":"848098489872b3a65423f16724ff907a41cc46ababd037618b58bc7e4e272278","reordering":"849468d02d09b6e562b9fcee74e993fc5774f19b6576625c67223ff5f860a66a","series":"259bf85db5abe5e45e624beb3d9166975a07214f1d1bca142dc05375a5d81d27","trials":"63fd2cd498aed66a8cce8cdae9e0cb4ffeedcbcfbff35169ec44ac4c542892aa"}', '2026-11-29T04:00:03.651554+00:00', '2026-11-29T04:00:03.833036+00:00', '{"end_ps":15739641,"frames_delivered":98,"frames_in_flight":0,"frames_lost":{"buffer_full":2},"frames_sent":100,"jobs":[{"chunks":12,"chunks_complete":12,"chunks_failed":0,"end_ps":15739641,"name":"test","reason":"","rounds":1,"start_ps":0,"status":"complete"}],"status":"complete","window_ps":1000}', '[{"algbw_gb_per_s":66.62007094062692,"algorithm":"parallel","busbw_gb_per_s":49.965053205470184,"busbw_gb_per_s_max":49.965053205470184,"busbw_gb_per_s_min":49.965053205470184,"chunks":12,"chunks_complete":12,"chunks_failed":0,"cnp_tx":0,"collective":"all-to-all","completion_time_ms":0.015739641,"data_size_bytes":1048576,"delivered_gb_per_s":null,"ecn_ce_rx":0,"fct_mean_ms":0.015734141,"fct_ms_max":0.015739641,"fct_ms_min":0.015728641,"fct_ms_p50":0.015733641,"fct_ms_p95":0.015739641,"fct_ms_p99":0.015739641,"fct_ms_p999":0.015739641,"frames_lost":2,"id":"000000000000","ideal_percent":101.93066029905003,"iops":null,"iteration":0,"jain_fairness":0.999999952,"job":"test","latency_us_max":4.0,"latency_us_mean":3.0,"latency_us_min":2.0,"link_load_max_to_mean":1.5,"offered_gb_per_s":null,"operation_us_max":null,"operation_us_mean":null,"operation_us_min":null,"operation_us_p50":null,"operation_us_p95":null,"operation_us_p99":null,"operation_us_p999":null,"out_of_order_percent":0.0,"pfc_rx":6,"plan":"other","queue_max_bytes":7000,"rank_ms_max":null,"rank_ms_mean":null,"rank_ms_min":null,"ranks":4,"reason":"","retransmits":0,"round_ms_max":0.015739641,"round_ms_min":0.015739641,"rounds":1,"slowdown_max":null,"slowdown_mean":null,"slowdown_p50":null,"slowdown_p95":null,"slowdown_p99":null,"status":"complete","storage_gb_per_s":null,"variant":"base"}]', '{"cpu_s":0.0027780500022345223,"events":50,"exact_windows":1,"fast_forward_ps":0,"fast_windows":10,"packet_hops":400,"peak_rss_bytes":1048576,"threads":1,"wall_s":0.0027780500022345223}', '{"architecture":"x86_64","cpus":2,"host":"host1","python":"3.11.7","system":"Linux 6.18.44-fc-v595"}');
SELECT pg_catalog.setval('public.memberships_number_seq', 1, true);
SELECT pg_catalog.setval('public.runs_number_seq', 2, true);
SELECT pg_catalog.setval('public.trials_attempt_seq', 4, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkey PRIMARY KEY (version_num);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_pkey PRIMARY KEY (trial_id, tag);
ALTER TABLE ONLY public.trash
    ADD CONSTRAINT trash_pkey PRIMARY KEY (attempt);
ALTER TABLE ONLY public.trials
    ADD CONSTRAINT trials_pkey PRIMARY KEY (attempt);
CREATE UNIQUE INDEX one_membership_per_suite ON public.memberships USING btree (trial_id, suite);
CREATE UNIQUE INDEX one_record_per_id ON public.trials USING btree (id) WHERE ((status)::text = ANY ((ARRAY['complete'::character varying, 'incomplete'::character varying])::text[]));
CREATE UNIQUE INDEX runs_by_id ON public.runs USING btree (id);
CREATE INDEX runs_by_state ON public.runs USING btree (state);
CREATE INDEX trials_by_id ON public.trials USING btree (id);
