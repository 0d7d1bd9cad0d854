// Memory, queues and address handles.
#include "fake.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr_iova

struct mr *all_mrs;
static uint32_t next_key = 1;

#define MAKE(type, name, which) \
	type *name = calloc(1, sizeof(type)); \
	born(&name->o, which)

int ibv_fork_init(void) { return 0; }

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *a)
{
	(void)context;
	memset(a, 0, sizeof(*a));
	a->node_guid = htobe64(0x0200000000000001);
	a->max_mr_size = 1ull << 31;
	a->max_qp_wr = 1024;
	a->max_srq_wr = 4096;
	a->max_sge = 8;
	a->max_cqe = 1 << 15;
	return fails() ? errno : 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)attr;

	(void)context;
	(void)port;
	a->state = IBV_PORT_ACTIVE;
	a->active_mtu = IBV_MTU_1024;
	a->max_msg_sz = 8 << 20;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	return fails() ? errno : 0;
}

// Place 2 is of RoCEv1, place 3 of RoCEv2, for each address the same: they are told apart
// by the one that asks, which tests do once for each device.
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t size)
{
	(void)context;
	(void)port;
	(void)flags;
	memset(entry, 0, size);
	if (index < 2 || index > 2 + 2 * 255)
		return ENODATA;
	entry->gid_type = index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	memset(entry->gid.raw + 10, 0xFF, 2);
	entry->gid.raw[12] = 127;
	entry->gid.raw[15] = (uint8_t)(index / 2);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	lock();
	MAKE(struct pd, p, PD);
	p->c.context = context;
	if (fails()) {
		dies(&p->o, PD);
		p = NULL;
	}
	unlock();
	return (struct ibv_pd *)p;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	lock();
	int rc = dies(&((struct pd *)pd)->o, PD);
	unlock();
	return rc;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct pd *p = (struct pd *)pd;

	lock();
	using(&p->o, PD);
	if (fails()) {
		unlock();
		return NULL;
	}
	if ((iova - (uint64_t)(uintptr_t)addr) % 4096)
		mistake("the place of a region in its page changes");
	MAKE(struct mr, m, MR);
	m->c.context = pd->context;
	m->c.pd = pd;
	m->c.addr = addr;
	m->c.length = length;
	m->c.lkey = next_key++ << 8 | 0x11;
	m->c.rkey = m->c.lkey;
	m->pd = p;
	m->iova = iova;
	m->access = (int)access;
	m->next = all_mrs;
	all_mrs = m;
	p->o.users++;
	unlock();
	return &m->c;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct mr *m = (struct mr *)mr, **at;

	lock();
	if (state->no_dereg) {
		unlock();
		return EBUSY;
	}
	dies(&m->o, MR);
	m->pd->o.users--;
	for (at = &all_mrs; *at != m; at = &(*at)->next)
		;
	*at = m->next;
	unlock();
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	lock();
	if (fails()) {
		unlock();
		return NULL;
	}
	MAKE(struct srq, s, SRQ);
	s->c.context = pd->context;
	s->pd = (struct pd *)pd;
	s->pd->o.users++;
	s->size = (int)attr->attr.max_wr;
	s->list = calloc((size_t)s->size, sizeof(*s->list));
	unlock();
	return &s->c;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct srq *s = (struct srq *)srq;

	lock();
	int rc = dies(&s->o, SRQ);
	if (!rc)
		s->pd->o.users--;
	unlock();
	return rc;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	lock();
	MAKE(struct comp, c, COMP);
	if (fails() || bell_make(&c->bell)) {
		dies(&c->o, COMP);
		unlock();
		return NULL;
	}
	c->c.context = context;
	c->c.fd = c->bell.read;
	unlock();
	return &c->c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct comp *c = (struct comp *)channel;

	lock();
	int rc = dies(&c->o, COMP);
	if (!rc)
		bell_end(&c->bell);
	unlock();
	return rc;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel, int vector)
{
	(void)vector;
	lock();
	if (fails()) {
		unlock();
		return NULL;
	}
	MAKE(struct cq, q, CQ);
	q->c.context = context;
	q->c.cq_context = user;
	q->c.cqe = cqe;
	q->comp = (struct comp *)channel;
	q->comp->o.users++;
	q->list = calloc(1 << 16, sizeof(*q->list));
	unlock();
	return &q->c;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	lock();
	using(&((struct cq *)cq)->o, CQ);
	int rc = fails() ? errno : 0;
	if (!rc)
		cq->cqe = cqe;
	unlock();
	return rc;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq *q = (struct cq *)cq;

	lock();
	if (q->unacked)
		mistake("a cq is freed with %d events that are not acknowledged", q->unacked);
	int rc = dies(&q->o, CQ);
	if (!rc)
		q->comp->o.users--;
	unlock();
	return rc;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	struct comp *c = (struct comp *)channel;
	int i;

	if (!bell_take(&c->bell))
		return -1;
	lock();
	using(&c->o, COMP);
	using(&c->first[0]->o, CQ);
	*cq = &c->first[0]->c;
	*context = (*cq)->cq_context;
	c->first[0]->unacked++;
	for (i = 1; i < c->count; i++)
		c->first[i - 1] = c->first[i];
	c->count--;
	unlock();
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	lock();
	((struct cq *)cq)->unacked -= (int)n;
	unlock();
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct pd *p = (struct pd *)pd;

	lock();
	using(&p->o, PD);
	if (attr->grh.sgid_index % 2 == 0)
		mistake("an address handle is not of RoCEv2");
	if (fails()) {
		unlock();
		return NULL;
	}
	MAKE(struct ah, a, AH);
	a->pd = p;
	p->o.users++;
	memcpy(a->ip, attr->grh.dgid.raw + 12, 4);
	unlock();
	return &a->c;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct ah *a = (struct ah *)ah;

	lock();
	dies(&a->o, AH);
	a->pd->o.users--;
	unlock();
	return 0;
}
