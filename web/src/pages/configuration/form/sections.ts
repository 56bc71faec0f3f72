/** Sections (tabs) of the plan's form with the fields of each, and a lookup of the section that contains a field. */
export interface Section {
  key: string;
  title: string;
  fields: readonly string[];
  /** Fields hidden behind "more fields". */
  more: readonly string[];
}

export const SECTIONS: readonly Section[] = [
  {
    key: 'test',
    title: 'Test',
    fields: ['name', 'title', 'seed', 'iterations', 'tag'],
    more: ['description', 'backend', 'solo', 'scale', 'search'],
  },
  {
    key: 'fabric',
    title: 'Fabric',
    fields: ['fabric.topology', 'fabric.load_balancing', 'fabric.link_layer'],
    more: [
      'fabric.server',
      'fabric.propagation',
      'fabric.nic',
      'fabric.shared_memory',
      'fabric.extra_delays',
      'fabric.switch_settings',
      'fabric.addresses',
      'fabric.clocks',
      'fabric.chips',
    ],
  },
  { key: 'jobs', title: 'Jobs and ports', fields: ['jobs'], more: [] },
  { key: 'sizes', title: 'Sweep', fields: ['sweep.data_size', 'sweep.message_size', 'sweep'], more: [] },
  {
    key: 'transport',
    title: 'Transport',
    fields: [
      'transport.mtu',
      'transport.message_size',
      'transport.qps_per_rank_pair',
      'transport.qp_mode',
      'transport.ack_every',
      'transport.recovery',
    ],
    more: [
      'transport.window',
      'transport.ooo_window',
      'transport.timeout',
      'transport.retry_count',
      'transport.priorities',
      'transport.port_mtu',
      'transport.connection',
      'transport.dscp',
    ],
  },
  {
    key: 'congestion',
    title: 'Congestion',
    fields: ['fabric.switch.ecn', 'transport.rate_control', 'fabric.switch.pfc', 'fabric.switch.buffer'],
    more: [
      'fabric.switch.scheduling',
      'fabric.switch.forwarding',
      'fabric.switch.pipeline_latency',
      'fabric.switch.scheduled',
      'fabric.switch.config',
      'fabric.switch.markers',
    ],
  },
  {
    key: 'more',
    title: 'More',
    fields: ['variants', 'criteria', 'fabric.failures', 'fabric.convergence_time', 'tcp'],
    more: ['observe', 'published', 'published_note'],
  },
];

/** Section with the control of a field, such as `jobs.0.ranks`. */
export function sectionOf(field: string): Section | undefined {
  const owns = (name: string) =>
    field === name || field.startsWith(`${name}.`) || name.startsWith(`${field}.`);
  return SECTIONS.find(({ fields, more }) => [...fields, ...more].some(owns));
}
