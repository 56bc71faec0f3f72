/* The peer of `interop bytes` (crates/endpoint/examples/interop): libibverbs over whatever RoCEv2 device has
 * the address from which it reaches the control port. usage: peer ADDRESS PORT
 *
 * Lines of words in, lines of words out, one case after the other, until the connection ends:
 *   in   case VERB ROLE MTU MESSAGES DEPTH SEED    ROLE is that of this end: requester or responder
 *   out  ready QPN PSN RKEY ADDRESS
 *   in   connect QPN PSN RKEY ADDRESS
 *   out  connected                                 receives are posted
 *   in   go                                        a requester begins
 *   out  done                                      of a requester: all has completed
 *   in   done                                      to both: the requester's work has completed
 *   out  result NAME=VALUE...
 * What cannot go on ends the program with a line on stderr. */
#include <arpa/inet.h>
#include <dirent.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_NUMBER 1
#define STALLED_MS 60000

enum verb { WRITE, WRITE_WITH_IMMEDIATE, SEND, SEND_WITH_IMMEDIATE, READ, VERBS };
static const char *const VERB_NAMES[VERBS] = {
    "write", "write_with_immediate", "send", "send_with_immediate", "read"};

struct message {
    uint64_t offset;
    uint32_t bytes;
    uint32_t immediate;
};

/* A case, with all that it takes. */
struct run {
    enum verb verb;
    int is_requester;
    unsigned mtu_bytes, messages, depth;
    struct message *message;
    uint8_t *memory, *pattern;
    uint64_t bytes;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    uint64_t remote_address;
    uint32_t remote_key;
    unsigned posted, completed, receives_posted, received, wrong_immediates;
};

static struct ibv_context *context;
static struct ibv_pd *domain;
static struct ibv_comp_channel *channel;
static int gid_index;
static int control;
static FILE *control_in;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("peer: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), as SplitMix64. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Sizes around what packets and messages have for edges, up to five packets. messages.rs draws the same. */
static uint32_t draw_bytes(uint64_t *state, uint32_t mtu) {
    uint64_t kind = draw(state) % 8, value = draw(state);
    switch (kind) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 1 + value % 64;
    case 3: return mtu - 1 + value % 3;
    case 4: return mtu * (1 + value % 4);
    case 5: return mtu * (1 + value / 3 % 4) - 1 + value % 3;
    default: return value % (5 * mtu + 1);
    }
}

static void lay_out(struct run *run, uint64_t seed) {
    uint64_t state = seed;
    run->message = calloc(run->messages, sizeof *run->message);
    for (unsigned i = 0; i < run->messages; i++) {
        run->bytes += draw(&state) % 16;
        run->message[i].offset = run->bytes;
        run->message[i].bytes = draw_bytes(&state, run->mtu_bytes);
        run->message[i].immediate = draw(&state);
        run->bytes += run->message[i].bytes;
    }
    run->bytes += 16;
    run->pattern = malloc(run->bytes + 8);
    run->memory = malloc(run->bytes);
    if (!run->message || !run->pattern || !run->memory) fail("no memory for %lu bytes", run->bytes);
    for (uint64_t at = 0; at < run->bytes; at += 8) {
        uint64_t word = htole64(draw(&state));
        memcpy(run->pattern + at, &word, 8);
    }
}

/* The end that is written to, or reads, has the complement of what is to come. */
static int is_filled(const struct run *run) { return run->is_requester == (run->verb == READ); }

static uint64_t wrong_bytes(const struct run *run) {
    uint64_t wrong = 0, at = 0;
    for (unsigned i = 0; i <= run->messages; i++) {
        uint64_t begin = i < run->messages ? run->message[i].offset : run->bytes;
        uint64_t end = i < run->messages ? begin + run->message[i].bytes : begin;
        for (; at < begin; at++) wrong += (run->memory[at] ^ run->pattern[at]) != 0xff;
        for (; at < end; at++) wrong += run->memory[at] != run->pattern[at];
    }
    return wrong;
}

static void say(const char *format, ...) {
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(control, line, length) != length) fail("the control connection is gone");
}

static int hear(char *line, int bytes) { return fgets(line, bytes, control_in) != NULL; }

static void expect(const char *word) {
    char line[256];
    if (!hear(line, sizeof line)) fail("the connection ended where \"%s\" was expected", word);
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, word)) fail("expected \"%s\", found \"%s\"", word, line);
}

/* The device and the GID index whose RoCEv2 GID is the IPv4 address of the control connection. */
static void open_device(void) {
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    if (getsockname(control, (struct sockaddr *)&own, &length)) fail("getsockname");
    uint8_t wanted[16] = {[10] = 0xff, [11] = 0xff};
    memcpy(wanted + 12, &own.sin_addr, 4);
    struct ibv_device **devices = ibv_get_device_list(NULL);
    for (struct ibv_device **device = devices; devices && *device; device++) {
        struct ibv_context *opened = ibv_open_device(*device);
        struct ibv_gid_entry entry;
        for (int index = 0; opened && !ibv_query_gid_ex(opened, PORT_NUMBER, index, &entry, 0); index++)
            if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(entry.gid.raw, wanted, 16)) {
                context = opened;
                gid_index = index;
                return;
            }
    }
    fail("no RDMA device has a RoCEv2 GID for %s", inet_ntoa(own.sin_addr));
}

static void print_counters(void) {
    char path[1024], line[2048];
    int length = 0;
    snprintf(path, sizeof path, "%s/ports/%d/hw_counters", context->device->ibdev_path, PORT_NUMBER);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/ports/%d/hw_counters/%s", context->device->ibdev_path, PORT_NUMBER,
                 entry->d_name);
        FILE *file = fopen(path, "r");
        unsigned long value;
        if (file && fscanf(file, "%lu", &value) == 1 && length < 1800)
            length += snprintf(line + length, sizeof line - length, " %s=%lu", entry->d_name, value);
        if (file) fclose(file);
    }
    if (folder) closedir(folder);
    say("%s\n", length ? line : "");
}

static void make_queue_pair(struct run *run) {
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    run->mr = ibv_reg_mr(domain, run->memory, run->bytes, access);
    run->cq = ibv_create_cq(context, 2 * run->depth + 8, NULL, channel, 0);
    if (!run->mr || !run->cq) fail("memory region or completion queue");
    struct ibv_qp_init_attr made = {
        .send_cq = run->cq,
        .recv_cq = run->cq,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = run->depth, .max_recv_wr = run->depth, .max_send_sge = 1, .max_recv_sge = 1},
    };
    run->qp = ibv_create_qp(domain, &made);
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = PORT_NUMBER, .qp_access_flags = access};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (!run->qp || ibv_modify_qp(run->qp, &init, mask)) fail("queue pair, INIT");
}

static void connect_queue_pair(struct run *run, uint32_t number, uint32_t psn, uint32_t own_psn) {
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    if (getpeername(control, (struct sockaddr *)&peer, &length)) fail("getpeername");
    int mtu = IBV_MTU_256;
    while (128u << mtu < run->mtu_bytes) mtu++;
    struct ibv_qp_attr ready = {
        .qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = number, .rq_psn = psn,
        .max_dest_rd_atomic = 8, .min_rnr_timer = 12 /* 0.64 ms */,
        .ah_attr = {.is_global = 1, .port_num = PORT_NUMBER,
                    .grh = {.sgid_index = gid_index, .hop_limit = 64, .traffic_class = 26 << 2 | 2}}};
    ready.ah_attr.grh.dgid.raw[10] = ready.ah_attr.grh.dgid.raw[11] = 0xff;
    memcpy(ready.ah_attr.grh.dgid.raw + 12, &peer.sin_addr, 4);
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (ibv_modify_qp(run->qp, &ready, mask)) fail("queue pair, RTR");
    struct ibv_qp_attr sending = {
        .qp_state = IBV_QPS_RTS, .timeout = 14 /* 67 ms */, .retry_cnt = 7, .rnr_retry = 7 /* for ever */,
        .sq_psn = own_psn, .max_rd_atomic = 4};
    mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
    if (ibv_modify_qp(run->qp, &sending, mask)) fail("queue pair, RTS");
}

static int takes_receives(const struct run *run) {
    return !run->is_requester && run->verb != WRITE && run->verb != READ;
}

static void post(struct run *run) {
    static const enum ibv_wr_opcode OPCODES[VERBS] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ};
    const struct message *message = &run->message[run->posted];
    struct ibv_sge sge = {(uintptr_t)run->memory + message->offset, message->bytes, run->mr->lkey};
    struct ibv_send_wr work = {.wr_id = run->posted++, .sg_list = &sge, .num_sge = message->bytes > 0,
        .opcode = OPCODES[run->verb], .imm_data = htonl(message->immediate),
        .wr.rdma = {run->remote_address + message->offset, run->remote_key}}, *bad;
    if (ibv_post_send(run->qp, &work, &bad)) fail("ibv_post_send of message %u", run->posted - 1);
}

static void post_receive(struct run *run) {
    const struct message *message = &run->message[run->receives_posted];
    int is_send = run->verb == SEND || run->verb == SEND_WITH_IMMEDIATE;
    struct ibv_sge sge = {(uintptr_t)run->memory + message->offset, message->bytes, run->mr->lkey};
    struct ibv_recv_wr work = {.wr_id = run->receives_posted++, .sg_list = &sge,
        .num_sge = is_send && message->bytes > 0}, *bad;
    if (ibv_post_recv(run->qp, &work, &bad)) fail("ibv_post_recv of message %u", run->receives_posted - 1);
}

static void take_completion(struct run *run, const struct ibv_wc *ended) {
    int is_receive = takes_receives(run);
    unsigned *count = is_receive ? &run->received : &run->completed;
    if (ended->status != IBV_WC_SUCCESS || ended->wr_id != *count)
        fail("%s %lu (expected %u) of queue pair %#x: %s, vendor %u", is_receive ? "receive" : "request",
             ended->wr_id, *count, run->qp->qp_num, ibv_wc_status_str(ended->status), ended->vendor_err);
    const struct message *message = &run->message[(*count)++];
    if (!is_receive) return;
    int has_immediate = run->verb != SEND;
    run->wrong_immediates += has_immediate != !!(ended->wc_flags & IBV_WC_WITH_IMM) ||
                             (has_immediate && ntohl(ended->imm_data) != message->immediate) ||
                             ended->byte_len != message->bytes;
}

/* Posts what there is room for and takes completions, until all have come, or a line has, if that is enough. */
static void work(struct run *run, int until_line) {
    unsigned *count = takes_receives(run) ? &run->received : &run->completed;
    for (struct ibv_wc ended[16];;) {
        while (run->is_requester && run->posted < run->messages && run->posted - run->completed < run->depth)
            post(run);
        while (takes_receives(run) && run->receives_posted < run->messages &&
               run->receives_posted - run->received < run->depth)
            post_receive(run);
        int found = ibv_poll_cq(run->cq, 16, ended);
        for (int i = 0; i < found; i++) take_completion(run, &ended[i]);
        if (found) continue;
        if (!until_line && *count == run->messages) return;
        if (ibv_req_notify_cq(run->cq, 0)) fail("ibv_req_notify_cq");
        if ((found = ibv_poll_cq(run->cq, 1, ended)) > 0) {
            take_completion(run, ended);
            continue;
        }
        struct pollfd polled[2] = {{channel->fd, POLLIN, 0}, {control, POLLIN, 0}};
        if (poll(polled, 1 + until_line, STALLED_MS) <= 0)
            fail("nothing for %d ms: %u posted, %u completed, %u received of %u", STALLED_MS, run->posted,
                 run->completed, run->received, run->messages);
        if (until_line && polled[1].revents) return;
        struct ibv_cq *cq;
        void *tag;
        if (ibv_get_cq_event(channel, &cq, &tag)) fail("ibv_get_cq_event");
        ibv_ack_cq_events(cq, 1);
    }
}

static void carry_out(const char *line) {
    struct run run = {0};
    char verb[32], role[32];
    unsigned long seed;
    if (sscanf(line, "case %31s %31s %u %u %u %lu", verb, role, &run.mtu_bytes, &run.messages, &run.depth,
               &seed) != 6)
        fail("no case: %s", line);
    while (run.verb < VERBS && strcmp(VERB_NAMES[run.verb], verb)) run.verb++;
    if (run.verb == VERBS) fail("no verb: %s", verb);
    run.is_requester = !strcmp(role, "requester");
    lay_out(&run, seed);
    for (uint64_t at = 0; at < run.bytes; at++)
        run.memory[at] = is_filled(&run) ? ~run.pattern[at] : run.pattern[at];
    make_queue_pair(&run);
    /* Near the end of the numbers, which begin again at 0. */
    uint32_t psn = 0xfff800, peer_number, peer_psn;
    say("ready %u %u %u %lu\n", run.qp->qp_num, psn, run.mr->rkey, (uintptr_t)run.memory);
    char said[256];
    if (!hear(said, sizeof said) || sscanf(said, "connect %u %u %u %lu", &peer_number, &peer_psn,
                                           &run.remote_key, &run.remote_address) != 4)
        fail("expected \"connect\"");
    connect_queue_pair(&run, peer_number, peer_psn, psn);
    for (unsigned i = 0; takes_receives(&run) && i < run.depth && i < run.messages; i++) post_receive(&run);
    say("connected\n");
    expect("go");
    if (run.is_requester) {
        work(&run, 0);
        say("done\n");
    } else {
        work(&run, 1);
    }
    expect("done");
    if (takes_receives(&run)) work(&run, 0);
    say("result completed=%u received=%u wrong_bytes=%lu wrong_immediates=%u", run.completed, run.received,
        is_filled(&run) ? wrong_bytes(&run) : 0, run.wrong_immediates);
    print_counters();
    if (ibv_destroy_qp(run.qp) || ibv_destroy_cq(run.cq) || ibv_dereg_mr(run.mr)) fail("taking down");
    free(run.message), free(run.pattern), free(run.memory);
}

int main(int count, char **arguments) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    if (count != 3 || !inet_pton(AF_INET, arguments[1], &to.sin_addr)) fail("usage: peer ADDRESS PORT");
    to.sin_port = htons(atoi(arguments[2]));
    control = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(control, (struct sockaddr *)&to, sizeof to)) fail("cannot connect to %s", arguments[1]);
    control_in = fdopen(dup(control), "r");
    setvbuf(control_in, NULL, _IONBF, 0);
    open_device();
    domain = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    if (!control_in || !domain || !channel) fail("protection domain or completion channel");
    for (char line[256]; hear(line, sizeof line);) carry_out(line);
    return 0;
}
