/* An RDMA adapter in one process, as libibverbs.so.1: queue pairs of the process are each other's peers, a posted
 * write is done at once, and its completions are there when the queue is asked. For tests of whoever calls it, and for
 * counting what that takes; it has the structures of the installed header. FAIL_AFTER=N lets write N and all later
 * ones fail. LOSE_EVERY=N loses write N and each Nth after it on unreliable connections.
 *
 * DEVICE_CLOCK="KHZ PPM BITS WRAP_MS" gives it a clock which runs PPM faster than KHZ, has so many bits, begins anew
 * WRAP_MS after the device was opened, and stamps completions, which are there to be polled only VISIBLE_NS later. The
 * file STAMPS has the true CLOCK_MONOTONIC of each stamp, and of when the clock begins anew [ns]. STAMPS_OFF_NS makes
 * stamps wrong by so much, CLOCK_SET_MS lets the clock jump so long after the device was opened, and
 * NO_STAMPED_QUEUE=1 refuses queues with stamps. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 4096
#define ENTRIES 65536

struct queue {
    union {
        struct ibv_cq cq;
        struct ibv_cq_ex extended;
    };
    struct ibv_wc entries[ENTRIES];
    int64_t stamped_ns[ENTRIES];
    unsigned first, last, armed;
};

struct pair {
    struct ibv_qp qp;
    unsigned peer, posted_receives, sends_max, unsignalled;
    uint64_t receive_id;
    int stopped, unreliable;
};

static struct pair *pairs[PAIRS];
static unsigned pair_count = 17;
static struct { uint64_t address, length; int writable; } regions[64];
static unsigned region_count = 1;
static long fail_after = -1, lose_every, written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#undef ibv_query_port
#undef ibv_reg_mr

static struct {
    int64_t khz, ppm, bits, wrap_ms, opened_ns, off_ns, visible_ns, set_ms;
    FILE *stamps;
} device_clock;

static int64_t number_of(const char *name)
{
    return getenv(name) ? atoll(getenv(name)) : 0;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static uint64_t mask_of_clock(void)
{
    return device_clock.bits ? UINT64_MAX >> (64 - device_clock.bits) : 0;
}

/* The counter at a time. */
static uint64_t ticks_at(int64_t at_ns)
{
    __int128 since_ns = at_ns - device_clock.opened_ns;
    if (device_clock.set_ms && since_ns > device_clock.set_ms * 1000000)
        since_ns += 700000000;
    __int128 ticks = since_ns * device_clock.khz * (1000000 + device_clock.ppm) / 1000000000000ll;
    return (uint64_t)(ticks - device_clock.wrap_ms * device_clock.khz) & mask_of_clock();
}

static void open_clock(void)
{
    const char *told = getenv("DEVICE_CLOCK");
    if (device_clock.khz || !told || sscanf(told, "%ld %ld %ld %ld", &device_clock.khz, &device_clock.ppm, &device_clock.bits,
                        &device_clock.wrap_ms) != 4)
        return;
    device_clock.opened_ns = monotonic_ns();
    device_clock.off_ns = number_of("STAMPS_OFF_NS");
    device_clock.visible_ns = number_of("VISIBLE_NS");
    device_clock.set_ms = number_of("CLOCK_SET_MS");
    device_clock.stamps = getenv("STAMPS") ? fopen(getenv("STAMPS"), "w") : NULL;
    if (device_clock.stamps)
        fprintf(device_clock.stamps, "anew %ld\n", device_clock.opened_ns + device_clock.wrap_ms * 1000000);
}

static void complete(struct ibv_cq *cq, struct ibv_wc entry)
{
    struct queue *queue = (struct queue *)cq;
    if (queue->last - queue->first >= (unsigned)cq->cqe)
        abort(); /* an adapter would be in a fatal state */
    if (device_clock.khz) {
        int64_t now_ns = monotonic_ns();
        queue->stamped_ns[queue->last % ENTRIES] = now_ns;
        if (device_clock.stamps)
            fprintf(device_clock.stamps, "%s %ld\n",
                    entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? "delivered" : "completed", now_ns);
    }
    queue->entries[queue->last++ % ENTRIES] = entry;
    if (queue->armed) {
        queue->armed = 0;
        uint64_t one = 1;
        if (write(cq->channel->fd, &one, sizeof one) < 0)
            abort();
    }
}

static int may(uint32_t key, uint64_t address, uint64_t length, int writes)
{
    return key < region_count && address >= regions[key].address &&
           address + length <= regions[key].address + regions[key].length && (!writes || regions[key].writable);
}

static int send_all(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct pair *pair = (struct pair *)qp, *peer = pairs[pair->peer % PAIRS];
    for (; wr; wr = wr->next) {
        struct ibv_wc entry = {.wr_id = wr->wr_id, .opcode = IBV_WC_RDMA_WRITE, .qp_num = qp->qp_num};
        uint64_t length = wr->num_sge ? wr->sg_list->length : 0;
        if (++pair->unsignalled > pair->sends_max) {
            *bad = wr;
            return ENOMEM; /* nobody told that there is room */
        }
        if (wr->send_flags & IBV_SEND_SIGNALED)
            pair->unsignalled = 0;
        if (pair->stopped)
            entry.status = IBV_WC_WR_FLUSH_ERR;
        else if (fail_after >= 0 && written >= fail_after)
            entry.status = IBV_WC_RETRY_EXC_ERR, entry.vendor_err = 0x81;
        else if (length && (!may(wr->sg_list->lkey, wr->sg_list->addr, length, 0) ||
                            !may(wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, length, 1)))
            entry.status = IBV_WC_REM_ACCESS_ERR;
        else if (length)
            memcpy((void *)wr->wr.rdma.remote_addr, (void *)wr->sg_list->addr, length);
        written++;
        int lost = pair->unreliable && lose_every && written % lose_every == 0;
        if (!entry.status && !lost && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
            if (!peer->posted_receives)
                abort(); /* nobody waits here for a receiver that is not ready */
            peer->posted_receives--;
            struct ibv_wc arrival = {.wr_id = peer->receive_id, .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                .wc_flags = IBV_WC_WITH_IMM, .imm_data = wr->imm_data, .byte_len = length,
                .qp_num = peer->qp.qp_num};
            complete(peer->qp.recv_cq, arrival);
        }
        if (entry.status)
            pair->stopped = 1;
        if (entry.status || wr->send_flags & IBV_SEND_SIGNALED)
            complete(qp->send_cq, entry);
    }
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    pthread_mutex_lock(&lock);
    int error = send_all(qp, wr, bad);
    pthread_mutex_unlock(&lock);
    return error;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)bad;
    pthread_mutex_lock(&lock);
    for (; wr; wr = wr->next) {
        ((struct pair *)qp)->receive_id = wr->wr_id;
        ((struct pair *)qp)->posted_receives++;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *into)
{
    struct queue *queue = (struct queue *)cq;
    int count = 0;
    pthread_mutex_lock(&lock);
    while (count < most && queue->first != queue->last)
        into[count++] = queue->entries[queue->first++ % ENTRIES];
    pthread_mutex_unlock(&lock);
    return count;
}

/* Goes to the entry that is next, if it can be seen by now; whoever polls holds the lock until the end. */
static int next_poll(struct ibv_cq_ex *cq)
{
    struct queue *queue = (struct queue *)cq;
    if (queue->first == queue->last ||
        monotonic_ns() < queue->stamped_ns[queue->first % ENTRIES] + device_clock.visible_ns)
        return ENOENT;
    struct ibv_wc *entry = &queue->entries[queue->first++ % ENTRIES];
    cq->wr_id = entry->wr_id;
    cq->status = entry->status;
    return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *asked)
{
    if (asked->comp_mask)
        return EINVAL;
    pthread_mutex_lock(&lock);
    int error = next_poll(cq);
    if (error)
        pthread_mutex_unlock(&lock);
    return error;
}

static void end_poll(struct ibv_cq_ex *cq)
{
    (void)cq;
    pthread_mutex_unlock(&lock);
}

static struct ibv_wc *entry_of(struct ibv_cq_ex *cq)
{
    struct queue *queue = (struct queue *)cq;
    return &queue->entries[(queue->first - 1) % ENTRIES];
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq) { return entry_of(cq)->opcode; }
static uint32_t read_vendor_err(struct ibv_cq_ex *cq) { return entry_of(cq)->vendor_err; }
static uint32_t read_byte_len(struct ibv_cq_ex *cq) { return entry_of(cq)->byte_len; }
static __be32 read_imm_data(struct ibv_cq_ex *cq) { return entry_of(cq)->imm_data; }
static unsigned read_wc_flags(struct ibv_cq_ex *cq) { return entry_of(cq)->wc_flags; }

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
    struct queue *queue = (struct queue *)cq;
    return ticks_at(queue->stamped_ns[(queue->first - 1) % ENTRIES] + device_clock.off_ns);
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK)
        return EINVAL;
    values->raw_clock.tv_sec = 0;
    values->raw_clock.tv_nsec = ticks_at(monotonic_ns());
    return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *told, size_t size)
{
    (void)context;
    if (input || size < offsetof(struct ibv_device_attr_ex, device_cap_flags_ex))
        return EINVAL;
    memset(told, 0, size);
    told->completion_timestamp_mask = mask_of_clock();
    told->hca_core_clock = device_clock.khz;
    return 0;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *wanted)
{
    uint64_t flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    if (getenv("NO_STAMPED_QUEUE") || wanted->wc_flags & ~flags || wanted->comp_mask || wanted->flags) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_cq_ex *cq =
        (void *)ibv_create_cq(context, wanted->cqe, wanted->cq_context, wanted->channel, wanted->comp_vector);
    cq->start_poll = start_poll;
    cq->next_poll = next_poll;
    cq->end_poll = end_poll;
    cq->read_opcode = read_opcode;
    cq->read_vendor_err = read_vendor_err;
    cq->read_byte_len = read_byte_len;
    cq->read_imm_data = read_imm_data;
    cq->read_wc_flags = read_wc_flags;
    cq->read_completion_ts = read_completion_ts;
    return cq;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    pthread_mutex_lock(&lock);
    ((struct queue *)cq)->armed = 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    static struct ibv_device device = {.name = "fake0"};
    struct ibv_device **list = calloc(2, sizeof *list);
    *count = getenv("NO_DEVICE") ? 0 : 1;
    list[0] = *count ? &device : NULL;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    open_clock();
    struct verbs_context *around = calloc(1, sizeof *around);
    struct ibv_context *context = &around->context;
    around->sz = sizeof *around;
    around->query_device_ex = query_device_ex;
    around->create_cq_ex = create_cq_ex;
    around->query_rt_values = query_rt_values;
    context->abi_compat = device_clock.khz ? __VERBS_ABI_IS_EXTENDED : NULL;
    context->device = device;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    if (getenv("FAIL_AFTER"))
        fail_after = atol(getenv("FAIL_AFTER"));
    lose_every = number_of("LOSE_EVERY");
    return context;
}

int ibv_close_device(struct ibv_context *context)
{
    free((char *)context - offsetof(struct verbs_context, context));
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *told)
{
    (void)context;
    *told = (struct ibv_device_attr){.max_qp = PAIRS - 32, .max_qp_wr = 16384, .max_cqe = ENTRIES - 1};
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *into)
{
    (void)context, (void)port;
    struct ibv_port_attr *told = (void *)into;
    told->state = getenv("PORT_DOWN") ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    told->active_mtu = getenv("MTU_1024") ? IBV_MTU_1024 : IBV_MTU_4096;
    told->max_msg_sz = 1u << 31;
    told->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *into, size_t most, uint32_t flags,
                             size_t size)
{
    (void)context, (void)flags;
    if (most < 2 || size != sizeof *into)
        return -EINVAL;
    for (int index = 0; index < 2; index++) {
        into[index] = (struct ibv_gid_entry){.gid_index = index, .port_num = 1,
            .gid_type = index ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1};
        memset(into[index].gid.raw + 10, 0xff, 2);
        inet_pton(AF_INET, "127.0.0.1", into[index].gid.raw + 12);
    }
    return 2;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = calloc(1, sizeof *pd);
    pd->context = context;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) { free(pd); return 0; }

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    if (getenv("NO_MEMORY")) {
        errno = ENOMEM;
        return NULL;
    }
    struct ibv_mr *mr = calloc(1, sizeof *mr);
    regions[region_count].address = (uint64_t)address;
    regions[region_count].length = length;
    regions[region_count].writable = access & IBV_ACCESS_REMOTE_WRITE;
    *mr = (struct ibv_mr){.context = pd->context, .pd = pd, .lkey = region_count, .rkey = region_count};
    region_count++;
    return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    regions[mr->lkey].length = 0;
    free(mr);
    return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = calloc(1, sizeof *channel);
    *channel = (struct ibv_comp_channel){.context = context, .fd = eventfd(0, EFD_CLOEXEC)};
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *own, struct ibv_comp_channel *channel,
                             int vector)
{
    (void)own, (void)vector;
    struct queue *queue = calloc(1, sizeof *queue);
    queue->cq.context = context;
    queue->cq.channel = channel;
    queue->cq.cqe = entries;
    return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) { free(cq); return 0; }

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **own)
{
    uint64_t count;
    (void)cq, (void)own;
    return read(channel->fd, &count, sizeof count) == sizeof count ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count) { (void)cq, (void)count; }

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
    struct pair *pair = calloc(1, sizeof *pair);
    pair->qp.context = pd->context;
    pair->qp.send_cq = wanted->send_cq;
    pair->qp.recv_cq = wanted->recv_cq;
    pair->qp.qp_num = pair_count;
    pair->sends_max = wanted->cap.max_send_wr;
    pair->unreliable = wanted->qp_type == IBV_QPT_UC;
    pairs[pair_count++ % PAIRS] = pair;
    return &pair->qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *change, int which)
{
    struct pair *pair = (struct pair *)qp;
    if (which & IBV_QP_DEST_QPN)
        pair->peer = change->dest_qp_num;
    /* ECT(0), a flow label that is not 0, a timeout that ends, and what each step takes (ibv_modify_qp(3)). */
    if (which & IBV_QP_AV && ((change->ah_attr.grh.traffic_class & 3) != 2 || !change->ah_attr.grh.flow_label ||
                              !change->ah_attr.is_global || change->ah_attr.grh.sgid_index != 1))
        return EINVAL;
    if (which & IBV_QP_TIMEOUT && (!change->timeout || change->timeout > 31 || change->retry_cnt > 7))
        return EINVAL;
    int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC;
    if (pair->unreliable) {
        rtr &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
    }
    int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    int needs = change->qp_state == IBV_QPS_INIT ? init : change->qp_state == IBV_QPS_RTR ? rtr
              : change->qp_state == IBV_QPS_RTS ? rts : IBV_QP_STATE;
    if (which != needs)
        return EINVAL;
    if (change->qp_state == IBV_QPS_ERR)
        pair->stopped = 1;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    pairs[qp->qp_num % PAIRS] = NULL;
    free(qp);
    return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_RETRY_EXC_ERR ? "transport retry counter exceeded" : "other";
}
