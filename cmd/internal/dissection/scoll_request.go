package dissection

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// collectiveRequest is a message that goes down a tree.
type collectiveRequest struct {
	wire.RequestHeader
	src, dest nid.NID
	hop       hop
	located   *collectives // knows the list of members of the tree, or knew it once; nil: it never did
	payload   snippet
	order     string         // text of a request to a service of lnetd; "": to another service
	evictions *evictionBatch // parsed payload of client health; nil: the payload belongs to another service
	remarks   []string       // violations of the protocol, shown behind "odd:"
}

// request parses a message that goes down a tree.
func (c *collectives) request(r *capture.Record) (capture.Understood, error) {
	h, body, err := wire.ParseRequestHeader(r.Payload)
	if errors.Is(err, wire.ErrMagic) {
		for _, read := range []func(*capture.Record) (capture.Understood, error){c.identity, c.progress, c.hold} {
			if is, err := read(r); !errors.Is(err, wire.ErrMagic) && !errors.Is(err, wire.ErrShort) {
				return is, err
			}
		}
	}
	if err != nil && !whole(r) {
		err = capture.ErrPartOfPayload
	}
	switch {
	case errors.Is(err, wire.ErrVersion):
		le := binary.LittleEndian
		return nil, fmt.Errorf("%w: version %d with a header of %d bytes, known is %d with %d",
			err, le.Uint16(r.Payload[4:]), le.Uint16(r.Payload[6:]), wire.Version, wire.RequestHeaderSize)
	case errors.Is(err, wire.ErrShort), errors.Is(err, wire.ErrMagic), len(r.Payload) < wire.RequestHeaderSize:
		return nil, err
	case errors.Is(err, wire.ErrBody):
		err = fmt.Errorf("%w: a list of %d and a payload of %d bytes, but %d follow the header", err, h.ListSize, h.PayloadSize, len(body))
	case errors.Is(err, wire.ErrHeader):
		err = fmt.Errorf("%w: %s", err, contradiction(&h))
	}
	q := &collectiveRequest{RequestHeader: h, src: r.Header.SrcNID, dest: r.Header.DestNID, hop: hop{from: -1, to: -1}}
	if err == nil {
		err = c.learn(q, body)
		payload := body[h.ListSize:][:h.PayloadSize]
		q.payload = snippetOf(payload, uint64(h.PayloadSize))
		q.explain(payload)
	}
	return q, err
}

// contradiction names the fields of an invalid header that contradict each other.
func contradiction(h *wire.RequestHeader) string {
	_, known := h.Tree.Topology()
	oob := h.Flags&wire.FlagOOB != 0
	switch {
	case !known && h.Tree == scoll.Tree{}:
		return "the creator of the group is no NID"
	case !known:
		return fmt.Sprintf("tree of %v", h.Tree)
	case h.Nodes == 0 || h.Root >= h.Nodes:
		return fmt.Sprintf("root %d of %d nodes", h.Root, h.Nodes)
	case h.First > h.Sequence:
		return fmt.Sprintf("first attempt %d after %d", h.First, h.Sequence)
	case oob == h.Group.Creator.IsValid():
		return fmt.Sprintf("flags %v with group %v", h.Flags, h.Group)
	}
	if h.Segment > 0 && (h.Segment < scoll.MinSegment || h.Bulk.Length == 0) {
		return fmt.Sprintf("segments of %d bytes for %d bytes of bulk data", h.Segment, h.Bulk.Length)
	}
	return fmt.Sprintf("flags %v, a list of %d bytes that rides and one of %d to be fetched", h.Flags, h.ListSize, h.List.Length)
}

// learn remembers the data to which later messages refer, and finds the hop of the request.
func (c *collectives) learn(q *collectiveRequest, body []byte) error {
	var err error
	if q.ListSize > 0 {
		var list *scoll.Membership
		if list, err = wire.ParseMembership(body[:q.ListSize]); err == nil {
			err = c.take(q, list)
		}
	}
	q.locate(c)
	remember(c.requests, q.src, q.dest, q.ReplyBits, q)
	for _, e := range []*exposure{{q, false, q.Bulk}, {q, true, q.List}} {
		if e.Length > 0 {
			remember(c.exposed, q.src, q.dest, e.Bits, e)
		}
	}
	return err
}

// take remembers a list of members under its digest, which group ids contain.
func (c *collectives) take(q *collectiveRequest, list *scoll.Membership) error {
	if list.Digest() != q.Group.Digest {
		return fmt.Errorf("the list of members has digest %v, not that of the group", list.Digest())
	}
	c.lists.put(list.Digest(), list)
	return nil
}

// locate finds the request's hop in the tree and checks it, if the list of members is known.
func (q *collectiveRequest) locate(c *collectives) {
	list := c.listOf(q)
	if list == nil {
		return
	}
	if list.Len() != int(q.Nodes) {
		q.remark("the group has %d nodes, the tree %d", list.Len(), q.Nodes)
		return
	}
	q.located = c
	topology, _ := q.Tree.Topology()
	over := tree.Tree{Topology: topology, N: list.Len(), Root: int(q.Root)}
	q.hop = hop{from: list.Rank(q.src), to: list.Rank(q.dest)}
	if !q.hop.known() {
		q.remark("%v or %v is no member", q.src, q.dest)
		return
	}
	q.hop.level = over.Level(q.hop.to)
	if parent, has := over.Parent(q.hop.to); !has {
		q.remark("rank %d is the root", q.hop.to)
	} else if parent != q.hop.from {
		q.remark("the parent of rank %d is rank %d, not %d", q.hop.to, parent, q.hop.from)
	}
}

// listOf returns the list of members of a request's tree, or nil if it is not known. Requests do not refer to
// their lists, because the lists take far more memory than the requests, and would stay in memory with them.
func (c *collectives) listOf(q *collectiveRequest) *scoll.Membership {
	digest := q.Group.Digest
	if q.Flags&wire.FlagSubset != 0 {
		digest = q.Live
	}
	if list, ok := c.lists.get(digest); ok {
		return list
	}
	if c.assumed != nil && c.assumed.Len() == int(q.Nodes) {
		return c.assumed
	}
	return nil
}

// nid returns the NID of a rank, or false if it is not known.
func (q *collectiveRequest) nid(rank uint32) (nid.NID, bool) {
	if q == nil || q.located == nil {
		return nid.NID{}, false
	}
	list := q.located.listOf(q)
	if list == nil || int(rank) >= list.Len() {
		return nid.NID{}, false
	}
	return list.NID(int(rank)), true
}

func (q *collectiveRequest) remark(format string, args ...any) {
	q.remarks = remark(q.remarks, format, args...)
}

// kind returns the operation that the request is part of.
func (q *collectiveRequest) kind() string {
	switch {
	case q.Flags&wire.FlagModule == 0:
		return "broadcast"
	case q.Flags&wire.FlagLast != 0:
		return "destroy"
	}
	return "create"
}

// name returns the text by which other messages refer to the request.
func (q *collectiveRequest) name() string {
	return fmt.Sprintf("%s %d of service %d, group %v", q.kind(), q.Sequence, q.Service, q.Group)
}

// root returns the rank of the root, with its NID if that is known.
func (q *collectiveRequest) root() string {
	if n, ok := q.nid(q.Root); ok {
		return fmt.Sprintf("%d (%v)", q.Root, n)
	}
	return fmt.Sprint(q.Root)
}

// Summary implements capture.Understood.
func (q *collectiveRequest) Summary() string {
	s := fmt.Sprintf("scoll %s, root %d of %d, %v", q.name(), q.Root, q.Nodes, q.hop)
	if q.order != "" {
		s += ", " + q.order
	} else if q.payload.length > 0 {
		s += ", " + q.payload.String()
	}
	if q.ListSize > 0 || q.List.Length > 0 {
		s += ", with the list of members"
	}
	if q.Bulk.Length > 0 {
		s += fmt.Sprintf(", bulk data of %d bytes", q.Bulk.Length)
	}
	if q.Segment > 0 {
		s += fmt.Sprintf(" in segments of %d", q.Segment)
	}
	return s + odd(q.remarks)
}

// Details implements capture.Understood.
func (q *collectiveRequest) Details() []string {
	lines := []string{
		fmt.Sprintf("%s, version %d, flags %v, service %d, sequence %d, first attempt %d, root's incarnation %d",
			q.kind(), wire.Version, q.Flags, q.Service, q.Sequence, q.First, q.RootIncarnation),
		fmt.Sprintf("group %v, digest %v", q.Group, q.Group.Digest),
		fmt.Sprintf("tree %v over %d nodes, root %s; %s", q.Tree, q.Nodes, q.root(), q.hop.detail()),
		fmt.Sprintf("reply to match bits %#x; estimates: RTT %v, guard %v, bulk data %v, processing %v%s", q.ReplyBits, q.RTT, q.Guard, q.BulkTime, q.Processing, holdText(q.Hold)),
	}
	if q.Carry > 0 {
		lines = append(lines, fmt.Sprintf("room for %d bytes of answers that are passed on", q.Carry))
	}
	if q.Flags&wire.FlagSubset != 0 {
		lines = append(lines, fmt.Sprintf("live members %v", q.Live))
	}
	if q.ListSize > 0 {
		lines = append(lines, fmt.Sprintf("list of members: %d bytes", q.ListSize))
	}
	for _, e := range []exposure{{q, true, q.List}, {q, false, q.Bulk}} {
		if e.Length > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d bytes, to be fetched under match bits %#x", e.what(), e.Length, e.Bits))
		}
	}
	if q.Segment > 0 {
		lines = append(lines, fmt.Sprintf("bulk data is forwarded in segments of %d bytes", q.Segment))
	}
	lines = append(lines, fmt.Sprintf("payload: %v", q.payload))
	switch {
	case q.evictions != nil:
		lines = append(lines, q.evictions.details()...)
	case q.order != "":
		lines = append(lines, "order: "+q.order)
	}
	return append(lines, remarkLines(q.remarks)...)
}

// detail returns the hop, or why it is unknown.
func (h hop) detail() string {
	if !h.known() {
		return "ranks unknown: the list of members is not in this capture"
	}
	return h.String()
}
