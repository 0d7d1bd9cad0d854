package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Grace is how much longer the answer to an action may take than the action itself.
const Grace = time.Second

// Order is a broadcast to be sent.
type Order struct {
	Verb   Verb   // verb of the request to be sent
	Action string // with the verb Run: name of the action to run
	Text   []byte // with the verb Text: the text to digest; with Run: standard input of the action; with Clients: which page of clients is asked for
	Room   int    // with the verb Clients: largest size of an answer in bytes
	Bulk   []byte // bulk data to be sent; nil: there are none
	Live   bool   // send to the live members alone
	// Carry sends Bulk to the members in another way before the request, and reports whether it
	// has. Members that have received Bulk in this way do not fetch it. May be nil.
	Carry func(ctx context.Context, id ID, bulk []byte) bool
	// Timeout is how long a member may work on the request. Package scoll adds the time that messages need in the
	// tree, see scoll.Config.RTT.
	Timeout time.Duration
}

// Outcome is the result of a broadcast.
type Outcome struct {
	Sent      int64             // when the root sent the request, in ns since 1970
	Elapsed   time.Duration     // time until all answers had arrived
	Sending   time.Duration     // time that the root took to send the request to its children
	Children  int               // number of the root's children
	Status    scoll.Status      // OK, or why the request was never sent
	Nodes     int               // number of nodes that the request was sent to, including the root
	Answers   []Piece           // answers of members, sorted by NID
	Unreached []scoll.Unreached // members without an answer, sorted by NID
	LeftOut   []nid.NID         // with Live: dead members that were left out
}

// Piece is a member's answer.
type Piece struct {
	NID nid.NID // NID of the member
	Answer
}

// call is a broadcast that this node has begun, and its outcome.
type call struct {
	ctx     context.Context
	request Request
	sent    int64
	began   time.Time
	own     own
	done    chan struct{} // closed when outcome is set
	outcome Outcome

	mu       sync.Mutex
	g        *gathering // answers to the latest attempt; guarded by mu, like all below
	sending  time.Duration
	children int
}

func (c *call) gathered() *gathering {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.g
}

// ErrOrder says that a text is too long for a message, or that the name of an action has more than
// 255 bytes.
var ErrOrder = errors.New("admin: the text is too long for a message, or the name for a name")

// ErrClosed says that the service was closed while a broadcast was under way.
var ErrClosed = errors.New("admin: the service has ended")

// Broadcast sends an order to a group and waits for the answers. When ctx ends, Broadcast stops
// waiting, and members whose answers are missing count as unreached. Errors are those of
// scoll.Group.NewRequest and scoll.Request.Send, ErrOrder and ErrClosed.
func (s *Service) Broadcast(ctx context.Context, g *scoll.Group, o Order) (*Outcome, error) {
	c := s.newCall(ctx, o)
	if o.Carry != nil && len(o.Bulk) > 0 {
		c.request.Carried = o.Carry(ctx, c.request.ID, o.Bulk)
	}
	r, err := s.request(g, o, c)
	if err == nil {
		err = s.begin(r, c)
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-c.done:
	case <-s.ctx.Done():
	case <-ctx.Done():
		r.Abort()
	}
	select {
	case <-c.done:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outcome.Sending, c.outcome.Children = c.sending, c.children
		return &c.outcome, nil
	case <-s.ctx.Done():
		return nil, ErrClosed
	}
}

func (s *Service) newCall(ctx context.Context, o Order) *call {
	output := s.cfg.Output
	if o.Verb == Clients {
		output = o.Room
	}
	c := &call{ctx: ctx, done: make(chan struct{}), request: Request{
		Version: Version, Verb: o.Verb, Answer: longest(o.Verb, output), Name: o.Action, Text: o.Text,
	}}
	if o.Verb == Run {
		c.request.Limit = uint32(min(max(o.Timeout.Milliseconds(), 1), math.MaxUint32))
	}
	rand.Read(c.request.ID[:])
	return c
}

// Room returns how many bytes of text a request to run an action may have if it is sent to the
// present members of a group.
func Room(g *scoll.Group, action string) (bytes int, err error) {
	bytes, err = g.MaxPayload()
	return max(bytes-requestSize-len(action), 0), err
}

// request returns the request of an order.
func (s *Service) request(g *scoll.Group, o Order, c *call) (*scoll.Request, error) {
	if len(o.Action) > maxName {
		return nil, ErrOrder
	}
	cfg := scoll.RequestConfig{Live: o.Live, Processing: o.Timeout, Private: c, Payload: c.request.AppendTo(nil)}
	if o.Verb == Run {
		cfg.Processing += Grace
	}
	if len(o.Bulk) > 0 {
		cfg.Bulk = [][]byte{o.Bulk}
	}
	r, err := g.NewRequest(cfg)
	if errors.Is(err, scoll.EMSGSIZE) && uint64(len(o.Bulk)) < 1<<32 {
		return nil, ErrOrder
	}
	return r, err
}

// begin posts buffers and sends the request.
func (s *Service) begin(r *scoll.Request, c *call) error {
	c.began, c.sent = time.Now(), s.now()
	if err := s.prepareCall(r, c); err != nil {
		return err
	}
	children := r.Children()
	began := time.Now()
	err := r.Send()
	c.noteSending(time.Since(began), children)
	return err
}

// noteSending records how long sending to the children took. The outcome may be set already.
func (c *call) noteSending(sending time.Duration, children int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending, c.children = sending, children
}

// prepareCall posts the buffers of an attempt.
func (s *Service) prepareCall(r *scoll.Request, c *call) error {
	if _, ok := buffersOf(r, c.request.Answer); !ok {
		return scoll.EMSGSIZE
	}
	g, err := newGathering(r, c.request)
	if err != nil {
		return err
	}
	s.forwards(g)
	c.mu.Lock()
	c.g = g
	c.mu.Unlock()
	return nil
}

// again prepares another attempt of a broadcast that this node sends.
func (s *Service) again(r *scoll.Request) error {
	return s.prepareCall(r, r.Private().(*call))
}

// complete sets the outcome of a broadcast. If this node is itself a member of the group, complete first
// waits for its own answer.
func (s *Service) complete(r *scoll.Request, c *call) {
	o := &c.outcome
	o.Sent, o.Status, o.LeftOut = c.sent, r.Status(), r.LeftOut()
	o.Unreached = r.Unreached()
	slices.SortFunc(o.Unreached, func(a, b scoll.Unreached) int { return a.NID.Compare(b.NID) })
	o.Nodes = 1
	for i := range r.Children() {
		o.Nodes += r.Child(i).Nodes
	}
	self := r.NID()
	if o.Status != scoll.OK || len(r.Entities()) == 0 {
		s.finish(self, c, nil)
		return
	}
	c.own.then(func(answer []byte) {
		s.finish(self, c, s.stamped(c.gathered(), answer))
	})
}

// finish adds the answers to the outcome.
func (s *Service) finish(self nid.NID, c *call, own []byte) {
	o := &c.outcome
	o.Elapsed = time.Since(c.began)
	messages, bad := c.gathered().pack(self, own)
	s.stats.badPieces.Add(uint64(bad))
	missing := map[nid.NID]bool{}
	for _, u := range o.Unreached {
		missing[u.NID] = true
	}
	for _, m := range messages {
		for id, data := range scoll.Pieces(m) {
			if a, err := ParseAnswer(data); err == nil && !missing[id] {
				o.Answers = append(o.Answers, Piece{id, a})
			}
		}
	}
	slices.SortFunc(o.Answers, func(a, b Piece) int { return a.NID.Compare(b.NID) }) // each member has one piece at most, see isSound
	close(c.done)
}
