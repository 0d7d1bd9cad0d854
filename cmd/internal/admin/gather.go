package admin

import (
	"slices"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

const (
	// messageSize is the longest message of a reply in bytes. Together with the longest trailer, it
	// still fits into an LNet message.
	messageSize = 512 << 10
	// maxMessages bounds the messages of a reply.
	maxMessages = 64
)

// gathering collects the answers to a request at one node.
type gathering struct {
	request Request
	t1      int64       // when this node forwarded the request, by its clock
	before  collections // with the verb Tracing: garbage collections before the request was forwarded

	mu       sync.Mutex
	children []fromChild // answers of the children, and of members below them that children passed on; guarded by mu
}

// fromChild is the answer of a child, or the answer of a member further below that the child
// passed on without merging it.
type fromChild struct {
	id       nid.NID
	messages [][]byte // messages of the child's reply, by part
	t4       int64    // time at which the last message arrived
	passed   bool     // true: the answer of a member further below; false: the answer of the child itself
	failed   bool
	bad      bool             // a message is not sound, see isSound; no piece of this answer counts
	seen     map[nid.NID]bool // nodes with a piece in messages
}

// messagesOf returns how many messages the answers of the given number of nodes can need, and
// their size. Each message is filled until the next piece does not fit.
func messagesOf(nodes int, answer uint32) (count, size int) {
	piece := scoll.PieceSize + int(answer)
	total := nodes * piece
	if total <= messageSize {
		return 1, total
	}
	return total/(messageSize-piece) + 1, messageSize
}

// buffersOf returns the size of the buffers for the children's answers, or false if these could
// need too many messages.
func buffersOf(r *scoll.Request, answer uint32) (bytes int64, ok bool) {
	for i := range r.Children() {
		count, size := messagesOf(r.Child(i).Nodes, answer)
		if count > maxMessages {
			return 0, false
		}
		bytes += int64(count) * int64(size)
	}
	return bytes, true
}

// newGathering posts the buffers for a request's answers.
func newGathering(r *scoll.Request, q Request) (*gathering, error) {
	g := &gathering{request: q, children: make([]fromChild, r.Children())}
	for i := range g.children {
		g.children[i].id = r.ChildNID(i)
		count, size := messagesOf(r.Child(i).Nodes, q.Answer)
		for range count {
			if err := r.PostReply(i, make([]byte, size)); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// take adds a message of a child, which arrived at an instant of this node's clock.
func (g *gathering) take(p *scoll.Reply, at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.from(p)
	if p.Status != scoll.OK {
		c.failed = true
		return
	}
	g.add(c, p.Part, p.Payload, at, p.Covers)
}

// add adds a message to an answer. The function covers reports whether the node of a piece is in the
// subtree that the answer is for. The caller holds g.mu.
func (g *gathering) add(c *fromChild, part int, message []byte, at int64, covers func(nid.NID) bool) {
	for len(c.messages) <= part {
		c.messages = append(c.messages, nil)
	}
	c.messages[part], c.t4 = message, at
	c.bad = c.bad || !g.isSound(c, message, covers)
}

// isSound reports whether a message is well formed and has no answer that is too long. Each piece
// must be that of a node of the subtree, and the only one of that node, because a peer could put
// false answers of nodes elsewhere in the tree into its own.
func (g *gathering) isSound(c *fromChild, message []byte, covers func(nid.NID) bool) bool {
	if scoll.CheckPieces(message) != nil {
		return false
	}
	if c.seen == nil {
		c.seen = make(map[nid.NID]bool)
	}
	for id, data := range scoll.Pieces(message) {
		if len(data) > int(g.request.Answer) || c.seen[id] || !covers(id) {
			return false
		}
		c.seen[id] = true
	}
	return true
}

// from returns the answer that a message belongs to. The caller holds g.mu.
func (g *gathering) from(p *scoll.Reply) *fromChild {
	if g.children[p.Child].id == p.From {
		return &g.children[p.Child]
	}
	i := slices.IndexFunc(g.children, func(c fromChild) bool { return c.passed && c.id == p.From })
	if i < 0 {
		i = len(g.children)
		g.children = append(g.children, fromChild{id: p.From, passed: true})
	}
	return &g.children[i]
}

// pack returns all pieces in as few messages as possible. If own is not empty, it becomes the
// last piece. The result bad is the number of answers with a message that is not sound.
func (g *gathering) pack(self nid.NID, own []byte) (messages [][]byte, bad int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := packer{}
	for i := range g.children {
		c := &g.children[i]
		switch {
		case c.failed: // the reply of this child has failed; package scoll, at the child or at this node, reports its members as missing
		case c.bad:
			bad++
		default:
			g.packChild(&p, c)
		}
	}
	if own != nil {
		p.add(self, own)
	}
	return append(p.full, p.last), bad
}

// packChild adds the pieces of a child.
func (g *gathering) packChild(p *packer, c *fromChild) {
	if g.request.isTimed() {
		c.adjust(g.t1)
	}
	for _, m := range c.messages {
		for id, data := range scoll.Pieces(m) {
			p.add(id, data)
		}
	}
}

// adjust converts the readings of a child, in place, into readings relative to this node's
// clock. If the child's own reading is missing, the offsets of the nodes below the child are
// unknown. The offsets of answers that the child passed on unmerged are unknown as well.
func (c *fromChild) adjust(t1 int64) {
	own, known := c.own()
	for _, m := range c.messages {
		for _, data := range scoll.Pieces(m) {
			a, err := ParseAnswer(data)
			if err != nil || a.Status != scoll.OK {
				continue
			}
			r, err := timed(a.Data)
			if err != nil {
				continue
			}
			if r = r.through(own, t1, c.t4); !known {
				r.Bound = Unbounded
			}
			copy(a.Data, r.AppendTo(nil))
		}
	}
}

// own returns the reading of the child itself, which is in the last of its pieces.
func (c *fromChild) own() (r Reading, known bool) {
	if len(c.messages) == 0 || c.passed {
		return r, false
	}
	for id, data := range scoll.Pieces(c.messages[len(c.messages)-1]) {
		a, err := ParseAnswer(data)
		if err == nil && id == c.id && a.Status == scoll.OK {
			r, err = timed(a.Data)
			known = err == nil
		}
	}
	return r, known
}

// packer fills messages with pieces.
type packer struct {
	full [][]byte
	last []byte
}

func (p *packer) add(id nid.NID, data []byte) {
	if len(p.last) > 0 && len(p.last)+scoll.PieceSize+len(data) > messageSize {
		p.full = append(p.full, p.last)
		p.last = nil
	}
	p.last = scoll.AppendPiece(p.last, id, data)
}
