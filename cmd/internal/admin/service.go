package admin

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Config configures a Service.
type Config struct {
	Version string            // the answer to the verb Version; cut to 128 bytes
	Digest  [32]byte          // the answer to the verb Config
	Actions map[string]Action // actions that may be run, by name
	// MayAct reports whether a root may run actions here and send bulk data, if its request was
	// forwarded by the given parent. nil: no root may.
	MayAct func(root, parent nid.NID) bool

	// Distrust returns the setting because of which any process could use the NID of a parent, or
	// "" if there is no such setting. If there is one, this node refuses actions that the parent
	// forwards, but still runs its own. A nil Distrust means that there is no such setting.
	Distrust func(parent nid.NID) string
	// IsStranger reports whether a node is not listed. Requests of such nodes take at most a
	// quarter of MaxMemory. nil: no node is a stranger.
	IsStranger func(nid.NID) bool

	// MayAsk reports whether a root may ask for clients of this node, if its request was forwarded by the given parent.
	// If this node asks itself, root and parent are this node. nil: no root may.
	MayAsk func(root, parent nid.NID) bool
	// Clients answers a question for clients of this node, with at most room bytes. It is set if MayAsk is.
	Clients func(question []byte, room int) ([]byte, scoll.Status)

	// Carried removes and returns the bulk data of a root's request that arrived by multicast; nil
	// if there is none. Carried itself may be nil.
	Carried func(root nid.NID, id ID) []byte

	MaxBulk    int // largest bulk data of a request, in bytes
	MaxMemory  int // bytes of the bulk data and answers of all requests of other nodes together
	MaxActions int // number of actions that may run at a time; at least 1
	Output     int // how many bytes at the end of an action's output are put into the answer

	// Dir is the folder of the files with bulk data. Files that a killed daemon has left there are
	// removed. "" stands for the system's folder for temporary files; from there, they are not
	// removed.
	Dir string
	// Worker runs a function that may block, in another goroutine: it returns without waiting for
	// the function. nil: the function runs in a goroutine of its own.
	Worker func(func())
	Log    *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // the clock for the verb Clock; nil: the system's clock
}

// Service is the administration service of a node.
type Service struct {
	cfg     Config
	ctx     context.Context // context of the actions that run for other nodes
	cancel  context.CancelFunc
	workers sync.WaitGroup
	mu      sync.Mutex
	closed  bool          // Close was called; guarded by mu
	actions chan struct{} // a token for each action that runs
	memory  atomic.Int64  // bytes that requests of other nodes use at present
	strange atomic.Int64  // the part of memory that requests of strangers use
	memo    memo
	files   folder
	stats   counters

	collector collector
}

// New returns a service. Close ends its actions.
func New(cfg Config) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Version) > maxVersion {
		cfg.Version = cfg.Version[:maxVersion]
	}
	s := &Service{cfg: cfg, actions: make(chan struct{}, max(cfg.MaxActions, 1)), files: openFolder(cfg.Dir, cfg.Log)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends running actions and calls of Broadcast, and waits for the actions. Close the agent
// afterwards.
func (s *Service) Close() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.workers.Wait()
	s.files.close()
}

// Register registers the service with an agent.
func (s *Service) Register(a *scoll.Agent) error {
	return a.RegisterService(scoll.Service{
		ID: ServiceID, PreRequest: s.preRequest, IncomingRequest: s.incomingRequest, Inline: true,
		IncomingReply: s.incomingReply, PostReply: s.postReply, ReplyOut: s.replyOut,
	})
}

func (s *Service) now() int64 { return s.cfg.Now().UnixNano() }

// received is another node's request that this node handles.
type received struct {
	*gathering
	at      int64 // time at which the request arrived
	own     *own
	bad     error // why the request cannot be parsed; nil: it can
	memory  int64
	strange bool
}

// preRequest accepts or refuses a request, and posts buffers for the answers to it.
func (s *Service) preRequest(r *scoll.Request) error {
	if r.Root() {
		return s.again(r)
	}
	if s.ctx.Err() != nil {
		return scoll.ECANCELED // the service is closing (SC-71)
	}
	at := s.now()
	q, bad := ParseRequest(r.Payload())
	if bad == ErrShort || bad == ErrAnswer {
		s.stats.malformed.Add(1)
		return scoll.EINVAL
	}
	memory, ok := buffersOf(r, q.Answer)
	if !ok {
		s.stats.memory.Add(1)
		return scoll.EMSGSIZE
	}
	if err := s.admit(r, q.Verb, bad); err != nil {
		return err
	}
	memory += int64(r.BulkLength())
	strange := s.cfg.IsStranger != nil && s.cfg.IsStranger(r.ParentNID())
	if !s.take(memory, strange) {
		s.stats.memory.Add(1)
		return scoll.EMAXMEMORY
	}
	g, err := s.prepare(r, q)
	if err != nil {
		s.give(memory, strange)
		return err
	}
	s.forwards(g)
	r.Data = &received{gathering: g, at: at, own: s.ownOf(r, strange), bad: bad, memory: memory, strange: strange}
	return nil
}

// forwards records the state of this node before it forwards a request.
func (s *Service) forwards(g *gathering) {
	if g.request.Verb == Tracing {
		g.before = s.collector.read()
	}
	g.t1 = s.now()
}

// ownOf returns this node's answer to a request: that of an earlier attempt, or a new one that
// is not set yet. Only a broadcast to the live members has several attempts.
func (s *Service) ownOf(r *scoll.Request, strange bool) *own {
	if !r.Live() {
		return new(own)
	}
	parent := r.ParentNID()
	if strange {
		parent = nid.NID{} // all strangers together get the room for answers that one parent gets
	}
	return s.memo.of(parent, r.RootNID(), r.Payload(), r.Repeated())
}

// prepare posts all buffers of a request.
func (s *Service) prepare(r *scoll.Request, q Request) (*gathering, error) {
	if n := r.BulkLength(); n > 0 {
		if err := s.setBulk(r, q, n); err != nil {
			return nil, err
		}
	}
	return newGathering(r, q)
}

// setBulk sets the memory for bulk data. If the data has arrived by multicast already, that is
// the memory in which the data is.
func (s *Service) setBulk(r *scoll.Request, q Request, length int) error {
	var data []byte
	if q.Carried && s.cfg.Carried != nil {
		data = s.cfg.Carried(r.RootNID(), q.ID)
	}
	if len(data) != length { // the data has not arrived, or its length is not the one in the request
		return r.SetBulk(make([]byte, length))
	}
	if err := r.SetBulk(data); err != nil {
		return err
	}
	s.stats.carried.Add(1)
	return r.SetArrived()
}

// incomingRequest runs a request, also at the root: at once, or in a worker if it may block.
func (s *Service) incomingRequest(r *scoll.Request) error {
	if status := r.BulkStatus(); status != scoll.OK {
		return status
	}
	t := task{s: s, root: r.RootNID(), ctx: s.ctx, bulk: r.Bulk()}
	var o *own
	if c, root := r.Private().(*call); root {
		t.request, t.at, t.ctx, t.parent, o = c.request, c.sent, c.ctx, r.NID(), &c.own
	} else {
		p := r.Data.(*received)
		t.request, t.at, t.bad, t.parent, o = p.request, p.at, p.bad, r.ParentNID(), p.own
	}
	acts := t.bad == nil && t.request.Verb == Run
	if t.mayAct = acts && (r.Root() || s.mayAct(r)); s.cfg.Distrust != nil && !r.Root() {
		t.distrust = s.cfg.Distrust(r.ParentNID())
	}
	if acts || len(t.bulk) > 0 || t.request.Verb == Clients { // in another goroutine: actions and the writing of bulk data block, and the answer to Clients takes long if there are very many clients
		s.work(func() { t.answer(o) })
	} else {
		t.answer(o)
	}
	return nil
}

// work calls f in a worker, and Close waits for f. If the service is closed, work does nothing,
// because no answer is needed.
func (s *Service) work(f func()) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.workers.Add(1)
	}
	s.mu.Unlock()
	if closed {
		return
	}
	run := func() {
		defer s.workers.Done()
		f()
	}
	if s.cfg.Worker != nil {
		s.cfg.Worker(run)
		return
	}
	go run()
}

// incomingReply keeps the answer of a child.
func (s *Service) incomingReply(p *scoll.Reply) {
	if c, root := p.Request.Private().(*call); root {
		c.gathered().take(p, s.now())
		return
	}
	if at, ok := p.Request.Data.(*received); ok {
		at.take(p, s.now())
	}
}

// postReply answers the parent once this node's own answer is set.
func (s *Service) postReply(r *scoll.Request) {
	if c, root := r.Private().(*call); root {
		s.complete(r, c)
		return
	}
	p := r.Data.(*received)
	p.own.then(func(answer []byte) { s.reply(r, p, answer) })
}

// reply sends this node's answer and the collected answers of its children to the parent. An
// error of ReplyPart or Reply means that this node is too late: package scoll has already
// answered in its place.
func (s *Service) reply(r *scoll.Request, p *received, answer []byte) {
	messages, bad := p.pack(r.NID(), s.stamped(p.gathering, answer))
	s.stats.badPieces.Add(uint64(bad))
	for _, m := range messages[:len(messages)-1] {
		if r.ReplyPart(m) != nil {
			return
		}
	}
	_ = r.Reply(messages[len(messages)-1]) // on an error, package scoll has answered the parent; see the comment of the function
}

// replyOut releases the memory of a request.
func (s *Service) replyOut(r *scoll.Request) {
	if p, ok := r.Data.(*received); ok && !r.Root() {
		s.give(p.memory, p.strange)
	}
}
