package dissection

import "ulnet/scoll/wire"

// MarshalJSON implements json.Marshaler.
func (q *collectiveRequest) MarshalJSON() ([]byte, error) {
	o := object{{"kind", q.kind()}}
	o.request(q)
	o.hop(q.hop)
	o.some("flags", q.Flags.String())
	o.some("tree", q.Tree.String())
	o.some("nodes", q.Nodes)
	o.put("reply_bits", hex(q.ReplyBits))
	o.some("rtt_us", q.RTT.Microseconds())
	o.some("guard_us", q.Guard.Microseconds())
	o.some("bulk_us", q.BulkTime.Microseconds())
	o.some("processing_us", q.Processing.Microseconds())
	o.some("carry", q.Carry) // how many bytes of carried answers a reply to this request may have
	o.some("hold_us", q.Hold.Microseconds())
	if q.Flags&wire.FlagSubset != 0 {
		o.some("live_digest", q.Live.String())
	}
	o.some("list_size", q.ListSize)
	o.rma("list", q.List)
	o.rma("bulk", q.Bulk)
	o.some("segment", q.Segment)
	o.some("payload", q.payload.entry())
	if q.evictions != nil { // a request of client health
		o.put("evictions", q.evictions.entry())
	} else {
		o.some("order", q.order) // a request of lnetd's administration service
	}
	o.some("odd", q.remarks)
	return o.MarshalJSON()
}

func (o *object) rma(key string, r wire.RMA) {
	if r.Length > 0 {
		o.put(key, object{{"match_bits", hex(r.Bits)}, {"length", r.Length}})
	}
}

// request puts the fields that identify a request; nil stands for a request that is not in the
// capture.
func (o *object) request(q *collectiveRequest) {
	if q == nil {
		return
	}
	o.put("service", uint32(q.Service))
	o.some("group", q.Group.String())
	o.some("digest", q.Group.Digest.String())
	o.put("sequence", decimal(q.Sequence))
	o.put("first_attempt", decimal(q.First))
	o.put("root_incarnation", decimal(q.RootIncarnation))
	o.put("root", q.Root) // rank of the root
	if n, ok := q.nid(q.Root); ok {
		o.put("root_nid", n.String())
	}
}

func (o *object) hop(h hop) {
	if h.known() {
		o.put("from_rank", h.from)
		o.put("to_rank", h.to)
		o.put("level", h.level) // level of the lower node: its distance from the root
	}
}
