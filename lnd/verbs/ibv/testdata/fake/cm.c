// The connection manager.
#include "fake.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static struct id *all_ids;
static uint32_t next_qpn = 0x100;

static struct sockaddr_in *local(struct id *id) { return (struct sockaddr_in *)&id->c.route.addr.src_addr; }
static struct sockaddr_in *remote(struct id *id) { return (struct sockaddr_in *)&id->c.route.addr.dst_addr; }

// tell queues an event. Private data arrive padded, as on the wire.
static struct event *tell(struct id *id, enum rdma_cm_event_type kind, int status, const void *data, int size, int padded)
{
	struct event *e = calloc(1, sizeof(*e)), **at;

	e->e.id = &id->c;
	e->e.event = kind;
	e->e.status = status;
	e->id = id;
	if (padded) {
		if (size)
			memcpy(e->data, data, (size_t)size);
		e->e.param.conn.private_data = e->data;
		e->e.param.conn.private_data_len = (uint8_t)padded;
	}
	for (at = &id->channel->events; *at; at = &(*at)->next)
		;
	*at = e;
	bell_ring(&id->channel->bell);
	return e;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *c = calloc(1, sizeof(*c));

	lock();
	if (fails() || bell_make(&c->bell)) {
		unlock();
		return NULL;
	}
	born(&c->o, CHANNEL);
	c->c.fd = c->bell.read;
	unlock();
	return &c->c;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct channel *c = (struct channel *)channel;

	lock();
	if (!dies(&c->o, CHANNEL))
		bell_end(&c->bell);
	unlock();
}

static struct id *make_id(struct channel *channel, void *context, enum rdma_port_space ps)
{
	struct id *id = calloc(1, sizeof(*id));

	born(&id->o, ID);
	id->c.context = context;
	id->c.channel = &channel->c;
	id->c.ps = ps;
	id->channel = channel;
	channel->o.users++;
	id->next = all_ids;
	all_ids = id;
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)
{
	lock();
	using(&((struct channel *)channel)->o, CHANNEL);
	int rc = fails() ? -1 : 0;
	if (!rc)
		*id = &make_id((struct channel *)channel, context, ps)->c;
	unlock();
	return rc;
}

// hang_up ends what an id is connected to, or was asking for.
static void hang_up(struct id *id)
{
	struct id *peer = id->peer;

	id->peer = NULL;
	if (peer && peer->peer == id && peer->o.alive) {
		peer->peer = NULL;
		if (peer->connected)
			tell(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0, 0);
		else if (peer->asking)
			tell(peer, RDMA_CM_EVENT_REJECTED, 28, NULL, 0, 148);
		peer->connected = peer->asking = 0;
	}
	id->connected = id->asking = 0;
}

int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct id *id = (struct id *)cm_id, **at;
	struct event **e, *next;
	int i, bound = 0;

	lock();
	using(&id->o, ID);
	if (id->c.qp)
		mistake("a cm id is freed that has a qp");
	if (id->unacked)
		mistake("a cm id is freed with an event that is not acknowledged: this would hang");
	hang_up(id);
	for (e = &id->channel->events; *e;) {
		next = (*e)->next;
		if ((*e)->id == id || (*e)->e.listen_id == cm_id) {
			if ((*e)->e.event == RDMA_CM_EVENT_CONNECT_REQUEST && (*e)->id != id) {
				hang_up((*e)->id);
				dies(&(*e)->id->o, ID);
				id->channel->o.users--;
			}
			*e = next;
		} else {
			e = &(*e)->next;
		}
	}
	dies(&id->o, ID);
	id->channel->o.users--;
	for (at = &all_ids; *at;)
		if (!(*at)->o.alive)
			*at = (*at)->next;
		else
			bound += (*at)->c.verbs != NULL, at = &(*at)->next;
	for (i = PD; !bound && i <= AH; i++)
		if (state->live[i] && !(i == MR && state->no_dereg) && !(i == PD && state->no_dereg))
			mistake("the device is closed by the library while %d of kind %d are left", (int)state->live[i], i);
	unlock();
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	struct id *id = (struct id *)cm_id;
	int rc = 0;

	lock();
	using(&id->o, ID);
	memcpy(local(id), addr, sizeof(struct sockaddr_in));
	if (fails()) {
		rc = -1;
	} else if (local(id)->sin_family != AF_INET || ntohl(local(id)->sin_addr.s_addr) >> 24 != 127) {
		errno = ENODEV;
		rc = -1;
	} else {
		id->c.verbs = &device;
		id->c.port_num = 1;
	}
	unlock();
	return rc;
}

int rdma_resolve_addr(struct rdma_cm_id *cm_id, struct sockaddr *from, struct sockaddr *to, int timeout)
{
	struct id *id = (struct id *)cm_id;
	int rc = 0;

	(void)from;
	(void)timeout;
	lock();
	using(&id->o, ID);
	memcpy(remote(id), to, sizeof(struct sockaddr_in));
	if (fails())
		rc = -1;
	else if (ntohl(remote(id)->sin_addr.s_addr) >> 24 != 127)
		tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, NULL, 0, 0);
	else
		tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0, 0);
	unlock();
	return rc;
}

int rdma_resolve_route(struct rdma_cm_id *cm_id, int timeout)
{
	(void)timeout;
	lock();
	using(&((struct id *)cm_id)->o, ID);
	int rc = fails() ? -1 : 0;
	if (!rc)
		tell((struct id *)cm_id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0, 0);
	unlock();
	return rc;
}

int rdma_listen(struct rdma_cm_id *cm_id, int backlog)
{
	(void)backlog;
	struct id *id = (struct id *)cm_id, *l;

	lock();
	int rc = fails() ? -1 : 0;
	for (l = all_ids; l; l = l->next)
		if (l->listening && local(l)->sin_addr.s_addr == local(id)->sin_addr.s_addr &&
		    local(l)->sin_port == local(id)->sin_port) {
			errno = EADDRINUSE;
			rc = -1;
		}
	id->listening = !rc;
	unlock();
	return rc;
}

int rdma_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct id *id = (struct id *)cm_id, *l, *fresh;

	lock();
	using(&id->o, ID);
	if (fails()) {
		unlock();
		return -1;
	}
	id->asking = 1;
	for (l = all_ids; l; l = l->next)
		if (l->listening && local(l)->sin_addr.s_addr == remote(id)->sin_addr.s_addr &&
		    local(l)->sin_port == remote(id)->sin_port)
			break;
	if (!l) {
		if (remote(id)->sin_port != htons(9)) // which never answers
			tell(id, RDMA_CM_EVENT_REJECTED, 8, NULL, 0, 148);
		unlock();
		return 0;
	}
	fresh = make_id(l->channel, l->c.context, RDMA_PS_TCP);
	fresh->c.verbs = &device;
	fresh->c.port_num = 1;
	*local(fresh) = *local(l);
	*remote(fresh) = *local(id);
	fresh->peer = id;
	id->peer = fresh;
	tell(fresh, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param->private_data, param->private_data_len, 56)->e.listen_id = &l->c;
	unlock();
	return 0;
}

int rdma_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct id *id = (struct id *)cm_id;

	lock();
	using(&id->o, ID);
	if (fails() || !id->peer || !id->peer->c.qp) {
		errno = errno ? errno : EINVAL;
		unlock();
		return -1;
	}
	((struct qp *)id->c.qp)->peer = (struct qp *)id->peer->c.qp;
	qp_state((struct qp *)id->c.qp, READY);
	tell(id->peer, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, param->private_data, param->private_data_len, 196);
	unlock();
	return 0;
}

int rdma_reject(struct rdma_cm_id *cm_id, const void *data, uint8_t size)
{
	struct id *id = (struct id *)cm_id;

	lock();
	using(&id->o, ID);
	if (id->peer && id->peer->peer == id) {
		tell(id->peer, RDMA_CM_EVENT_REJECTED, 28, data, size, 148);
		id->peer->peer = NULL;
		id->peer->asking = 0;
		id->peer = NULL;
	}
	unlock();
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *cm_id)
{
	struct id *id = (struct id *)cm_id;
	int connected = id->connected;

	lock();
	using(&id->o, ID);
	if (id->c.qp)
		qp_state((struct qp *)id->c.qp, BROKEN);
	if (connected) {
		hang_up(id);
		tell(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0, 0);
	}
	unlock();
	errno = EINVAL;
	return connected ? 0 : -1;
}

int rdma_create_qp(struct rdma_cm_id *cm_id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct qp *q = calloc(1, sizeof(*q));
	struct id *id = (struct id *)cm_id;

	lock();
	using(&id->o, ID);
	using(&((struct pd *)pd)->o, PD);
	if (fails()) {
		unlock();
		return -1;
	}
	born(&q->o, QP);
	q->pd = (struct pd *)pd;
	q->sends = (struct cq *)attr->send_cq;
	q->receives = (struct cq *)attr->recv_cq;
	q->srq = (struct srq *)attr->srq;
	using(&q->sends->o, CQ);
	using(&q->receives->o, CQ);
	using(&q->srq->o, SRQ);
	q->pd->o.users++, q->sends->o.users++, q->receives->o.users++, q->srq->o.users++;
	q->size = (int)attr->cap.max_send_wr;
	q->list = calloc((size_t)q->size, sizeof(*q->list));
	q->datagrams = attr->qp_type == IBV_QPT_UD;
	q->qkey = RDMA_UDP_QKEY;
	q->id = id;
	q->c.context = &device;
	q->c.qp_num = next_qpn++;
	q->c.state = q->datagrams ? READY : FRESH;
	q->next = all_qps;
	all_qps = q;
	cm_id->qp = &q->c;
	unlock();
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *cm_id)
{
	struct qp *q = (struct qp *)cm_id->qp, **at;

	lock();
	using(&((struct id *)cm_id)->o, ID);
	q->o.users = q->groups;
	if (!dies(&q->o, QP)) {
		for (at = &all_qps; *at != q; at = &(*at)->next)
			;
		*at = q->next;
		forget(q->sends, q);
		forget(q->receives, q);
		q->pd->o.users--, q->sends->o.users--, q->receives->o.users--, q->srq->o.users--;
		if (q->peer && q->peer->peer == q)
			q->peer->peer = NULL;
		q->c.state = BROKEN;
	}
	cm_id->qp = NULL;
	unlock();
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t size)
{
	(void)id, (void)level, (void)name, (void)value, (void)size;
	return fails() ? -1 : 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct channel *c = (struct channel *)channel;
	struct event *e = NULL;
	struct id *id;

	while (!e) {
		if (!bell_take(&c->bell))
			return -1;
		lock();
		using(&c->o, CHANNEL);
		e = c->events;
		if (e)
			c->events = e->next;
		unlock();
	}
	lock();
	id = e->id;
	using(&id->o, ID);
	if (e->e.event == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		// The library takes the queue pair on, and tells the peer.
		e->e.event = RDMA_CM_EVENT_ESTABLISHED;
		id->asking = 0;
		if (id->c.qp && id->c.qp->state == FRESH && id->peer) {
			id->connected = id->peer->connected = 1;
			((struct qp *)id->c.qp)->peer = (struct qp *)id->peer->c.qp;
			qp_state((struct qp *)id->c.qp, READY);
			tell(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0, 0);
		} else {
			e->e.event = RDMA_CM_EVENT_CONNECT_ERROR;
			e->e.status = -EINVAL;
			if (id->peer)
				tell(id->peer, RDMA_CM_EVENT_REJECTED, 28, NULL, 0, 148);
		}
		pump_all();
	}
	if (e->e.event == RDMA_CM_EVENT_REJECTED && id->c.qp)
		qp_state((struct qp *)id->c.qp, BROKEN);
	id->unacked++;
	unlock();
	*event = &e->e;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	lock();
	((struct event *)event)->id->unacked--;
	unlock();
	return 0;
}

int rdma_join_multicast(struct rdma_cm_id *cm_id, struct sockaddr *addr, void *context)
{
	struct id *id = (struct id *)cm_id;
	struct qp *q = (struct qp *)cm_id->qp;

	(void)context;
	lock();
	using(&id->o, ID);
	if (fails() || q->groups == 8) {
		unlock();
		return -1;
	}
	memcpy(q->group[q->groups++], &((struct sockaddr_in *)addr)->sin_addr, 4);
	tell(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0, NULL, 0, 0);
	unlock();
	return 0;
}

int rdma_leave_multicast(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	struct qp *q = (struct qp *)cm_id->qp;
	int i, rc = -1;

	lock();
	using(&((struct id *)cm_id)->o, ID);
	for (i = 0; i < q->groups; i++)
		if (!memcmp(q->group[i], &((struct sockaddr_in *)addr)->sin_addr, 4)) {
			memcpy(q->group[i], q->group[--q->groups], 4);
			rc = 0;
		}
	unlock();
	return rc;
}
