//go:build ibverbs && cgo && linux

#include "glue.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// result makes one of the ways in which libibverbs fails: it returns an errno, or -1
// with errno set.
static int result(int rc)
{
	if (rc == 0)
		return 0;
	if (rc > 0)
		return -rc;
	return errno ? -errno : -EIO;
}

static int made(const void *object)
{
	if (object)
		return 0;
	return errno ? -errno : -ENOMEM;
}

// limit makes a limit of the device, whose type is int and never negative.
static uint32_t limit(int n)
{
	return n > 0 ? (uint32_t)n : 0;
}

int ulnet_query(struct ibv_context *context, uint8_t port, struct ulnet_attr *attr)
{
	struct ibv_device_attr device;
	struct ibv_port_attr state;
	int rc;

	errno = 0;
	memset(attr, 0, sizeof(*attr));
	if ((rc = ibv_query_device(context, &device)))
		return result(rc);
	if ((rc = ibv_query_port(context, port, &state)))
		return result(rc);
	attr->guid = be64toh(device.node_guid);
	attr->max_region = device.max_mr_size;
	attr->max_sends = limit(device.max_qp_wr);
	attr->max_receives = limit(device.max_srq_wr);
	attr->max_sges = limit(device.max_sge);
	attr->max_completions = limit(device.max_cqe);
	attr->max_message = state.max_msg_sz;
	attr->mtu = 128u << state.active_mtu;
	attr->active = state.state == IBV_PORT_ACTIVE;
	attr->ethernet = state.link_layer == IBV_LINK_LAYER_ETHERNET;
	return 0;
}

// ulnet_find_gid looks for the GID of RoCEv2: one of RoCEv1 looks alike.
int ulnet_find_gid(struct ibv_context *context, uint8_t port, const uint8_t gid[16], uint8_t *index)
{
	struct ibv_gid_entry entry;
	uint32_t i;

	for (i = 0; i < 256; i++) {
		if (ibv_query_gid_ex(context, port, i, &entry, 0))
			continue; // an empty place
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(entry.gid.raw, gid, 16)) {
			*index = (uint8_t)i;
			return 0;
		}
	}
	return -ENODEV;
}

int ulnet_alloc_pd(struct ibv_context *context, struct ibv_pd **pd)
{
	errno = 0;
	*pd = ibv_alloc_pd(context);
	return made(*pd);
}

// ulnet_alloc gives whole pages: libibverbs may keep them from children.
int ulnet_alloc(size_t size, void **memory)
{
	const size_t page = 4096;
	int rc = posix_memalign(memory, page, (size + page - 1) / page * page);

	if (rc)
		return -rc;
	memset(*memory, 0, size);
	return 0;
}

int ulnet_register(struct ibv_pd *pd, uintptr_t memory, size_t size, uint64_t iova, int access, struct ibv_mr **mr)
{
	errno = 0;
	*mr = ibv_reg_mr_iova(pd, (void *)memory, size, iova, access);
	return made(*mr);
}

int ulnet_create_srq(struct ibv_pd *pd, uint32_t buffers, struct ibv_srq **srq)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = buffers, .max_sge = 1}};

	errno = 0;
	*srq = ibv_create_srq(pd, &attr);
	return made(*srq);
}

int ulnet_post_receive(struct ibv_srq *srq, uint64_t id, uint64_t base, uint32_t size, uint32_t key)
{
	struct ibv_sge sge = {.addr = base, .length = size, .lkey = key};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	errno = 0;
	return result(ibv_post_srq_recv(srq, &wr, &bad));
}

int ulnet_create_channel(struct ibv_context *context, struct ibv_comp_channel **channel)
{
	errno = 0;
	*channel = ibv_create_comp_channel(context);
	return made(*channel);
}

int ulnet_create_cq(struct ibv_context *context, int depth, struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
	errno = 0;
	*cq = ibv_create_cq(context, depth, NULL, channel, 0);
	return made(*cq);
}

int ulnet_resize_cq(struct ibv_cq *cq, int depth)
{
	errno = 0;
	return result(ibv_resize_cq(cq, depth));
}

int ulnet_arm(struct ibv_cq *cq)
{
	errno = 0;
	return result(ibv_req_notify_cq(cq, 0));
}

int ulnet_wakeup(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	errno = 0;
	if (ibv_get_cq_event(channel, &cq, &context))
		return errno ? -errno : -EIO;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

int ulnet_poll(struct ibv_cq *cq, struct ibv_wc *list, int most)
{
	int n = ibv_poll_cq(cq, most, list);

	return n < 0 ? -EIO : n;
}

int ulnet_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *sends, struct ibv_cq *receives,
		    struct ibv_srq *srq, uint32_t max_sends, uint32_t max_pieces, int datagrams)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = sends,
		.recv_cq = receives,
		.srq = srq,
		.cap = {.max_send_wr = max_sends, .max_send_sge = max_pieces},
		.qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	errno = 0;
	return result(rdma_create_qp(id, pd, &attr));
}

int ulnet_set_qkey(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .qkey = qkey};

	errno = 0;
	return result(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_QKEY));
}

int ulnet_fail_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	errno = 0;
	return result(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

int ulnet_create_ah(struct ibv_pd *pd, const uint8_t gid[16], uint8_t gid_index, uint8_t port, uint8_t traffic_class,
		    uint8_t hops, struct ibv_ah **ah)
{
	struct ibv_ah_attr attr = {
		.grh = {.sgid_index = gid_index, .hop_limit = hops, .traffic_class = traffic_class},
		.is_global = 1,
		.port_num = port,
	};

	memcpy(attr.grh.dgid.raw, gid, 16);
	errno = 0;
	*ah = ibv_create_ah(pd, &attr);
	return made(*ah);
}

int64_t ulnet_post(struct ibv_qp *qp, const struct ulnet_wr *list, struct ibv_sge *pieces, int count)
{
	struct ibv_send_wr wrs[ULNET_BATCH], *bad = NULL;
	int i, rc;
	int64_t posted = 0;

	if (count < 1 || count > ULNET_BATCH)
		return EINVAL;
	memset(wrs, 0, sizeof(wrs[0]) * (size_t)count);
	for (i = 0; i < count; i++) {
		struct ibv_send_wr *wr = &wrs[i];

		wr->wr_id = list[i].id;
		wr->next = i + 1 < count ? wr + 1 : NULL;
		wr->sg_list = pieces;
		wr->num_sge = (int)list[i].pieces;
		wr->opcode = list[i].write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		wr->send_flags = IBV_SEND_SIGNALED;
		if (list[i].ah) {
			wr->wr.ud.ah = (struct ibv_ah *)list[i].ah;
			wr->wr.ud.remote_qpn = list[i].qpn;
			wr->wr.ud.remote_qkey = list[i].qkey;
		} else {
			wr->wr.rdma.remote_addr = list[i].remote;
			wr->wr.rdma.rkey = list[i].rkey;
		}
		pieces += list[i].pieces;
	}
	errno = 0;
	rc = ibv_post_send(qp, wrs, &bad);
	if (rc == 0)
		return (int64_t)count << 32;
	if (bad >= wrs && bad < wrs + count)
		posted = bad - wrs;
	return posted << 32 | -result(rc);
}
