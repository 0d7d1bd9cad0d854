package admin

import (
	"slices"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

const (
	// messageSize is the longest message of a reply in bytes: LNet's payload has room for more
	// beside the longest trailer.
	messageSize = 512 << 10
	// maxMessages bounds the messages of a reply.
	maxMessages = 64
)

// gathering collects the answers to a request at one node.
type gathering struct {
	request Request
	t1      int64 // when the request was forwarded, by this node's clock

	mu       sync.Mutex
	children []fromChild // guarded by mu; the children, then members below them
}

// fromChild is the answer of a child, or of a member below one that was passed on
// unaggregated.
type fromChild struct {
	id       nid.NID
	messages [][]byte // by part
	t4       int64    // when the last came
	passed   bool     // it is not a child's, but was passed on
	failed   bool
}

// messagesOf returns how many messages the answers of so many nodes can take, and their size:
// each but the last has room for less than one more piece.
func messagesOf(nodes int, answer uint32) (count, size int) {
	piece := scoll.PieceSize + int(answer)
	total := nodes * piece
	if total <= messageSize {
		return 1, total
	}
	return total/(messageSize-piece) + 1, messageSize
}

// buffersOf returns how many bytes of buffers the children's answers take, or false if there
// could be too many messages.
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

// take adds a message of a child, which came at an instant of this node's clock.
func (g *gathering) take(p *scoll.Reply, at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.from(p)
	if p.Status != scoll.OK {
		c.failed = true
		return
	}
	for len(c.messages) <= p.Part {
		c.messages = append(c.messages, nil)
	}
	c.messages[p.Part], c.t4 = p.Payload, at
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

// pack returns all pieces, own as the last if there is one, in as few messages as possible,
// and how many answers were malformed.
func (g *gathering) pack(self nid.NID, own []byte) (messages [][]byte, bad int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := packer{}
	for i := range g.children {
		c := &g.children[i]
		if c.failed {
			continue // its module, or this node's, reports the missing members
		}
		if !g.packChild(&p, c) {
			bad++
		}
	}
	if own != nil {
		p.add(self, own)
	}
	return append(p.full, p.last), bad
}

// packChild adds the pieces of a child, and reports whether they are valid.
func (g *gathering) packChild(p *packer, c *fromChild) bool {
	if slices.ContainsFunc(c.messages, g.isBad) {
		return false
	}
	if g.request.Version == Version && g.request.Verb == Clock {
		c.adjust(g.t1)
	}
	for _, m := range c.messages {
		for id, data := range scoll.Pieces(m) {
			p.add(id, data)
		}
	}
	return true
}

// isBad reports whether a message is malformed, or has an answer that is too long.
func (g *gathering) isBad(message []byte) bool {
	if scoll.CheckPieces(message) != nil {
		return true
	}
	for _, data := range scoll.Pieces(message) {
		if len(data) > int(g.request.Answer) {
			return true
		}
	}
	return false
}

// adjust converts the readings of a child, in place, into readings relative to this node's
// clock. Without a reading of the child itself the offsets of those below it are unknown, as
// are those of answers that were passed on.
func (c *fromChild) adjust(t1 int64) {
	own, known := c.own()
	for _, m := range c.messages {
		for _, data := range scoll.Pieces(m) {
			a, err := ParseAnswer(data)
			if err != nil || a.Status != scoll.OK {
				continue
			}
			r, err := ParseReading(a.Data)
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

// own returns the child's own reading, which is in the last of its pieces.
func (c *fromChild) own() (r Reading, known bool) {
	if len(c.messages) == 0 || c.passed {
		return r, false
	}
	for id, data := range scoll.Pieces(c.messages[len(c.messages)-1]) {
		a, err := ParseAnswer(data)
		if err == nil && id == c.id && a.Status == scoll.OK {
			r, err = ParseReading(a.Data)
			known = err == nil
		}
	}
	return r, known
}

// packer fills messages.
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
