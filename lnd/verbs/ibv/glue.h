// What Go calls instead of libibverbs and librdmacm. All functions return 0, or an
// errno as a negative number, unless their comment says otherwise. None keeps a
// pointer that it was given by Go.
#ifndef ULNET_IBV_GLUE_H
#define ULNET_IBV_GLUE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

// ulnet_addr is an address of IPv4 (size 4) or IPv6 (16) and a port, host byte order.
struct ulnet_addr {
	uint8_t ip[16];
	uint8_t size;
	uint16_t port;
};

// Connections (glue_cm.c)

// ulnet_event is an event of the connection manager, already acknowledged. id is that of
// a connection request, which the caller has to answer or to destroy, or NULL.
struct ulnet_event {
	int kind, status;
	uint32_t token;
	struct rdma_cm_id *id;
	struct ulnet_addr peer;
	uint32_t private_size;
	uint8_t private_data[256];
};

int ulnet_channel(struct rdma_event_channel **channel);
int ulnet_create_id(struct rdma_event_channel *channel, uint32_t token, int datagrams, struct rdma_cm_id **id);
void ulnet_set_token(struct rdma_cm_id *id, uint32_t token);
int ulnet_bind(struct rdma_cm_id *id, struct ulnet_addr addr, int reuse);
int ulnet_set_tos(struct rdma_cm_id *id, uint8_t tos);
int ulnet_resolve_addr(struct rdma_cm_id *id, struct ulnet_addr to, int timeout_ms);
int ulnet_resolve_route(struct rdma_cm_id *id, int timeout_ms);
int ulnet_listen(struct rdma_cm_id *id, int backlog);
int ulnet_connect(struct rdma_cm_id *id, const void *data, uint8_t size, uint8_t retry, uint8_t rnr_retry);
int ulnet_accept(struct rdma_cm_id *id, const void *data, uint8_t size, uint8_t rnr_retry);
int ulnet_reject(struct rdma_cm_id *id, const void *data, uint8_t size);
int ulnet_disconnect(struct rdma_cm_id *id);
// ulnet_next_event returns -EAGAIN if there is none and the channel does not block.
int ulnet_next_event(struct rdma_event_channel *channel, struct ulnet_event *event);
// ulnet_join and ulnet_leave block; channel is id's own, and nobody else reads it.
int ulnet_join(struct rdma_cm_id *id, struct ulnet_addr group, int timeout_ms);
int ulnet_leave(struct rdma_cm_id *id, struct ulnet_addr group);

// Queue pairs and memory (glue_verbs.c)

struct ulnet_attr {
	uint64_t guid, max_region;
	uint32_t max_sends, max_receives, max_sges, max_completions, max_message;
	uint32_t mtu; // bytes
	int active, ethernet;
};

// ulnet_wr is a work request, whose pieces follow those of the one before it.
struct ulnet_wr {
	uint64_t id, remote;
	uint32_t rkey, write, pieces;
	uint32_t qpn, qkey;
	uintptr_t ah; // 0: a queue pair of a connection
};

// ULNET_BATCH is the most that one call of ulnet_post posts.
#define ULNET_BATCH 16

int ulnet_query(struct ibv_context *context, uint8_t port, struct ulnet_attr *attr);
int ulnet_find_gid(struct ibv_context *context, uint8_t port, const uint8_t gid[16], uint8_t *index);
int ulnet_alloc_pd(struct ibv_context *context, struct ibv_pd **pd);
int ulnet_alloc(size_t size, void **memory);
// memory is a number: it is pinned, and may lie in an object of Go with pointers.
int ulnet_register(struct ibv_pd *pd, uintptr_t memory, size_t size, uint64_t iova, int access, struct ibv_mr **mr);
int ulnet_create_srq(struct ibv_pd *pd, uint32_t buffers, struct ibv_srq **srq);
int ulnet_post_receive(struct ibv_srq *srq, uint64_t id, uint64_t base, uint32_t size, uint32_t key);
int ulnet_create_channel(struct ibv_context *context, struct ibv_comp_channel **channel);
int ulnet_create_cq(struct ibv_context *context, int depth, struct ibv_comp_channel *channel, struct ibv_cq **cq);
int ulnet_resize_cq(struct ibv_cq *cq, int depth);
int ulnet_arm(struct ibv_cq *cq);
// ulnet_wakeup takes and acknowledges a notification; -EAGAIN if there is none.
int ulnet_wakeup(struct ibv_comp_channel *channel);
// ulnet_poll returns the number of completions.
int ulnet_poll(struct ibv_cq *cq, struct ibv_wc *list, int most);
int ulnet_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *sends, struct ibv_cq *receives,
		    struct ibv_srq *srq, uint32_t max_sends, uint32_t max_pieces, int datagrams);
int ulnet_set_qkey(struct ibv_qp *qp, uint32_t qkey);
int ulnet_fail_qp(struct ibv_qp *qp);
int ulnet_create_ah(struct ibv_pd *pd, const uint8_t gid[16], uint8_t gid_index, uint8_t port, uint8_t traffic_class,
		    uint8_t hops, struct ibv_ah **ah);
// ulnet_post posts at most ULNET_BATCH. It returns how many it did, shifted by 32, and
// the errno for which the next was not posted.
int64_t ulnet_post(struct ibv_qp *qp, const struct ulnet_wr *list, struct ibv_sge *pieces, int count);

#endif
