// Queue pairs: what is posted, and what becomes of it.
#include "fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern struct mr *all_mrs;
struct qp *all_qps;

static struct mr *find(struct pd *pd, uint32_t key, uint64_t addr, uint64_t length, int access)
{
	struct mr *m;

	for (m = all_mrs; m; m = m->next)
		if (m->c.lkey == key && m->pd == pd && (m->access & access) == access && addr >= m->iova &&
		    addr - m->iova <= m->c.length && length <= m->c.length - (addr - m->iova))
			return m;
	return NULL;
}

static uint8_t *host(struct mr *m, uint64_t addr) { return (uint8_t *)m->c.addr + (addr - m->iova); }

static void complete(struct cq *c, struct qp *q, uint64_t id, int status, int opcode, uint32_t bytes, uint32_t src)
{
	struct ibv_wc *wc;

	using(&c->o, CQ);
	if (c->count == c->c.cqe) {
		mistake("a cq of %d overflows", c->c.cqe);
		return;
	}
	wc = &c->list[(c->head + c->count++) % (1 << 16)];
	memset(wc, 0xEE, sizeof(*wc)); // of one in error little is valid
	wc->wr_id = id;
	wc->status = status;
	wc->qp_num = q->c.qp_num;
	if (!status) {
		wc->opcode = opcode;
		wc->byte_len = bytes;
		wc->src_qp = src;
		wc->wc_flags = q->datagrams ? IBV_WC_GRH : 0;
	}
	if (c->armed) {
		c->armed = 0;
		c->comp->first[c->comp->count++] = c;
		bell_ring(&c->comp->bell);
	}
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *list)
{
	struct cq *c = (struct cq *)cq;
	int n;

	lock();
	using(&c->o, CQ);
	for (n = 0; n < most && c->count; n++, c->count--)
		list[n] = c->list[c->head++ % (1 << 16)];
	unlock();
	return n;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
	(void)solicited;
	lock();
	using(&((struct cq *)cq)->o, CQ);
	((struct cq *)cq)->armed = 1;
	unlock();
	return 0;
}

// forget is what drivers do with completions of a queue pair that goes away. A receive
// buffer that goes with it is lost to its pool.
void forget(struct cq *c, struct qp *q)
{
	struct ibv_wc keep[1 << 12];
	int i, n = 0;

	for (i = 0; i < c->count; i++) {
		struct ibv_wc *wc = &c->list[(c->head + i) % (1 << 16)];

		if (wc->qp_num != q->c.qp_num)
			keep[n++ % (1 << 12)] = *wc;
		else if (c == q->receives && (c != q->sends || wc->wr_id >> 63))
			mistake("a receive is lost with its qp");
	}
	c->head = 0;
	c->count = n;
	memcpy(c->list, keep, sizeof(keep[0]) * (size_t)n);
}

// gather copies what a work request names; -1 for memory that it may not.
static int64_t gather(struct qp *q, struct work *w, uint8_t *to)
{
	int64_t n = 0;
	int i;

	for (i = 0; i < w->pieces; i++) {
		struct mr *m = find(q->pd, w->sge[i].lkey, w->sge[i].addr, w->sge[i].length, 0);

		if (!m)
			return -1;
		memcpy(to + n, host(m, w->sge[i].addr), w->sge[i].length);
		n += w->sge[i].length;
	}
	return n;
}

// receive delivers to a queue pair: a status for the sender, or -1 without a buffer.
static int receive(struct qp *q, const uint8_t *data, int64_t n, uint32_t src)
{
	struct srq *s = q->srq;
	struct receive *r;
	struct mr *m;

	using(&s->o, SRQ);
	if (!s->count)
		return -1;
	r = &s->list[s->head];
	s->head = (s->head + 1) % s->size;
	s->count--;
	m = find(q->pd, r->sge.lkey, r->sge.addr, r->sge.length, IBV_ACCESS_LOCAL_WRITE);
	if (!m)
		mistake("a receive buffer is not registered");
	if (!m || n > r->sge.length) {
		complete(q->receives, q, r->id, IBV_WC_LOC_LEN_ERR, 0, 0, 0);
		qp_state(q, BROKEN);
		return IBV_WC_REM_INV_REQ_ERR;
	}
	memcpy(host(m, r->sge.addr), data, (size_t)n);
	complete(q->receives, q, r->id, 0, IBV_WC_RECV, (uint32_t)n, src);
	return 0;
}

static uint8_t buffer[(8 << 20) + 40];

static void net_header(const uint8_t *from, const uint8_t *to)
{
	uint32_t sum = 0;
	int i;

	memset(buffer, 0xAA, 20);
	memset(buffer + 20, 0, 20);
	buffer[20] = 0x45;
	buffer[28] = 64;
	buffer[29] = 17;
	memcpy(buffer + 32, from, 4);
	memcpy(buffer + 36, to, 4);
	for (i = 20; i < 40; i += 2)
		sum += (uint32_t)(buffer[i] << 8 | buffer[i + 1]);
	sum = (sum >> 16) + (sum & 0xFFFF);
	sum = ~((sum >> 16) + sum) & 0xFFFF;
	buffer[30] = (uint8_t)(sum >> 8);
	buffer[31] = (uint8_t)sum;
}

static const uint8_t *address(struct qp *q)
{
	return (const uint8_t *)&((struct sockaddr_in *)&q->id->c.route.addr.src_addr)->sin_addr;
}

static int member(struct qp *q, struct work *w)
{
	int i;

	if (w->qpn != 0xFFFFFF)
		return w->qpn == q->c.qp_num && !memcmp(address(q), w->ah->ip, 4);
	for (i = 0; i < q->groups; i++)
		if (!memcmp(q->group[i], w->ah->ip, 4))
			return 1;
	return 0;
}

static int datagram(struct qp *q, struct work *w)
{
	int64_t n = gather(q, w, buffer + 40);
	struct qp *to;

	using(&w->ah->o, AH);
	if (n < 0)
		return IBV_WC_LOC_PROT_ERR;
	if (n > 1024)
		return 0; // as rxe
	net_header(address(q), w->ah->ip);
	for (to = all_qps; to; to = to->next)
		if (to->datagrams && to->c.state == READY && to->qkey == w->qkey && member(to, w))
			receive(to, buffer, n + 40, q->c.qp_num);
	return 0;
}

// transfer does a work request: a status, or -1 if the peer has no buffer.
static int transfer(struct qp *q, struct work *w)
{
	int64_t n;
	struct mr *m;
	int rc;

	if (q->datagrams)
		return datagram(q, w);
	n = gather(q, w, buffer);
	if (n < 0)
		return IBV_WC_LOC_PROT_ERR;
	if (!q->peer || q->peer->c.state != READY)
		return IBV_WC_RETRY_EXC_ERR;
	if (!w->write) {
		rc = receive(q->peer, buffer, n, 0);
		return rc;
	}
	m = find(q->peer->pd, w->rkey, w->remote, (uint64_t)n, IBV_ACCESS_REMOTE_WRITE);
	if (!m) {
		qp_state(q->peer, BROKEN);
		return IBV_WC_REM_ACCESS_ERR;
	}
	memcpy(host(m, w->remote), buffer, (size_t)n);
	return 0;
}

void qp_pump(struct qp *q)
{
	while (q->count && q->c.state != FRESH) {
		struct work *w = &q->list[q->head];
		int status = IBV_WC_WR_FLUSH_ERR;

		if (q->c.state == READY) {
			if (state->hold || (status = transfer(q, w)) == -1)
				return;
		} else if (state->no_flush) {
			return;
		}
		complete(q->sends, q, w->id, status, w->write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND, 0, 0);
		q->head = (q->head + 1) % q->size;
		q->count--;
		if (status)
			q->c.state = BROKEN;
	}
}

void pump_all(void)
{
	struct qp *q;

	for (q = all_qps; q; q = q->next)
		qp_pump(q);
}

void qp_state(struct qp *q, enum ibv_qp_state to)
{
	q->c.state = to;
	qp_pump(q);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *q = (struct qp *)qp;

	lock();
	using(&q->o, QP);
	for (; wr; wr = wr->next) {
		struct work *w = &q->list[(q->head + q->count) % q->size];

		*bad = wr;
		if (++state->posts == state->refuse_at || q->c.state == FRESH || wr->num_sge > 8) {
			qp_pump(q);
			unlock();
			return EINVAL;
		}
		if (q->count == q->size) {
			mistake("a send queue of %d overflows", q->size);
			unlock();
			return ENOMEM;
		}
		memset(w, 0, sizeof(*w));
		w->id = wr->wr_id;
		w->write = wr->opcode == IBV_WR_RDMA_WRITE;
		w->pieces = wr->num_sge;
		memcpy(w->sge, wr->sg_list, sizeof(w->sge[0]) * (size_t)wr->num_sge);
		if (q->datagrams) {
			w->ah = (struct ah *)wr->wr.ud.ah;
			w->qpn = wr->wr.ud.remote_qpn;
			w->qkey = wr->wr.ud.remote_qkey;
		} else {
			w->remote = wr->wr.rdma.remote_addr;
			w->rkey = wr->wr.rdma.rkey;
		}
		q->count++;
	}
	qp_pump(q);
	unlock();
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct srq *s = (struct srq *)srq;
	int rc = 0;

	lock();
	using(&s->o, SRQ);
	*bad = wr;
	if (s->count == s->size) {
		mistake("a shared receive queue of %d overflows", s->size);
		rc = ENOMEM;
	} else if (fails()) {
		rc = errno;
	} else {
		struct receive *r = &s->list[(s->head + s->count++) % s->size];

		r->id = wr->wr_id;
		r->sge = wr->sg_list[0];
		pump_all();
	}
	unlock();
	return rc;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct qp *q = (struct qp *)qp;

	lock();
	using(&q->o, QP);
	if (attr->qp_state != IBV_QPS_ERR && fails()) {
		unlock();
		return errno;
	}
	if (mask & IBV_QP_QKEY)
		q->qkey = attr->qkey;
	if (mask & IBV_QP_STATE)
		qp_state(q, attr->qp_state);
	unlock();
	return 0;
}

struct ibv_context device = {
	.ops = {.poll_cq = poll_cq, .req_notify_cq = req_notify, .post_send = post_send, .post_srq_recv = post_srq_recv},
};
