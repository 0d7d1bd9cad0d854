package fault

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnet/faultrule"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Defaults of [Config].
const (
	defaultMaxHeld      = 4096
	defaultMaxHeldBytes = 64 << 20
)

// maxRules bounds the rules of a plan.
const maxRules = 1024

// Config configures a Plan.
type Config struct {
	Clock machine.Clock // the clock for delays; required
	// Seed of all random numbers. The same messages in the same order have the same
	// outcomes.
	Seed uint64
	// MaxHeld and MaxHeldBytes bound the messages that the plan holds back because of
	// delays, pauses and duplication, for all NIs together; zero means the default.
	// MaxHeldBytes counts bytes of payload.
	MaxHeld      int
	MaxHeldBytes int // bound of the payload bytes that are held back; see MaxHeld
}

// Plan is the set of faults at one node. All methods are safe for concurrent use, and
// none blocks on the network.
type Plan struct {
	cfg    Config
	active atomic.Bool // false: messages pass without a look at the rules; set by settle

	mu        sync.Mutex
	random    *rand.Rand    // guarded by mu, like all fields below
	rules     []*activeRule // the rules in the order in which they apply
	lnet      *faultrule.Set
	lastID    int
	partition Partition
	cut       uint64 // number of messages that the present partition and earlier ones have stopped
	paused    bool
	resume    machine.Timer // timer that ends a pause of limited length
	resumesAt time.Duration // when the pause ends by itself; 0: never
	stopped   bool
	held      int // number of messages that are held back now
	heldBytes int // payload bytes of the messages that are held back now
	overflow  uint64
	refused   uint64
	seq       uint64 // sequence number of the message that was held back last
	nis       []*netIf
	quiet     sync.Cond // signaled when a goroutine has left the method drain or end of an NI
}

type activeRule struct {
	id     int
	rule   Rule
	counts Counts
}

// New returns a plan without faults.
func New(cfg Config) *Plan {
	cfg.MaxHeld = cmp.Or(cfg.MaxHeld, defaultMaxHeld)
	cfg.MaxHeldBytes = cmp.Or(cfg.MaxHeldBytes, defaultMaxHeldBytes)
	p := &Plan{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 0))}
	p.lnet = faultrule.New(rand.New(rand.NewPCG(cfg.Seed, 1)))
	p.quiet.L = &p.mu
	return p
}

// Add appends a rule and returns its number, which no other rule ever gets.
// It fails with ENOSPC if there are maxRules rules already.
func (p *Plan) Add(r Rule) (id int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rules) >= maxRules {
		return 0, fmt.Errorf("there are %d rules: %w", maxRules, syscall.ENOSPC)
	}
	p.lastID++
	p.rules = append(p.rules, &activeRule{id: p.lastID, rule: r})
	p.settle()
	return p.lastID, nil
}

// Remove removes a rule. Messages that the rule has delayed stay delayed. Remove fails with ENOENT
// if there is no such rule.
func (p *Plan) Remove(id int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.rules, func(r *activeRule) bool { return r.id == id })
	if i < 0 {
		return fmt.Errorf("there is no rule %d: %w", id, syscall.ENOENT)
	}
	p.rules = slices.Delete(p.rules, i, i+1)
	p.settle()
	return nil
}

// RemoveAll removes all rules, as Remove, and returns how many there were.
func (p *Plan) RemoveAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.rules)
	p.rules = nil
	p.settle()
	return n
}

// Separate replaces the partition. The zero Partition ends it.
func (p *Plan) Separate(to Partition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partition = to
	p.settle()
}

// Pause holds back all messages of the node, in both directions, for d, or until Resume if d is
// 0. A second Pause replaces the end of the first.
func (p *Plan) Pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopResuming()
	p.paused = true
	if d > 0 {
		p.resumesAt = p.cfg.Clock.Now() + d
		at := p.resumesAt
		p.resume = p.cfg.Clock.AfterFunc(d, func() { p.resumeAt(at) })
	}
	p.settle()
}

// Resume ends a pause: messages that were held back and are due go first, in order.
func (p *Plan) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.goOn()
}

// resumeAt is called by the timer that ends a pause at an instant. It does nothing if another Pause or
// Resume has come since.
func (p *Plan) resumeAt(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumesAt == at {
		p.goOn()
	}
}

// goOn ends a pause. The caller holds mu.
func (p *Plan) goOn() {
	p.stopResuming()
	p.paused = false
	for _, ni := range p.nis {
		ni.arm()
	}
	p.settle()
}

// stopResuming cancels the timed end of a pause. The caller holds mu.
func (p *Plan) stopResuming() {
	if p.resume != nil {
		p.resume.Stop()
	}
	p.resume, p.resumesAt = nil, 0
}

// Stop prepares the end of the node: messages that are held back fail with ESHUTDOWN, and so
// do messages that would have to be held back from now on.
func (p *Plan) Stop() {
	p.mu.Lock()
	p.stopped = true
	p.stopResuming()
	var left []item
	for _, ni := range p.nis {
		left = append(left, ni.takeKept()...)
	}
	p.settle()
	p.mu.Unlock()
	for i := range left {
		left[i].fail()
	}
}

// settle computes p.active anew. The caller holds mu.
func (p *Plan) settle() {
	busy := slices.ContainsFunc(p.nis, func(ni *netIf) bool { return ni.kept.len() > 0 || ni.draining })
	p.active.Store(busy || len(p.rules) > 0 || !p.lnet.IsEmpty() || len(p.partition.sets) > 0 || p.paused || p.stopped)
}

// reserve takes room for a message that is to be held back, whose payload has the given number of bytes.
// The parameter mayPass says that the message can be passed on at once instead. If there is no room,
// reserve returns false, and counts the message as lost unless mayPass is set. The caller holds mu.
func (p *Plan) reserve(bytes int, mayPass bool) bool {
	if p.held >= p.cfg.MaxHeld || p.heldBytes+bytes > p.cfg.MaxHeldBytes {
		if !mayPass {
			p.overflow++
		}
		return false
	}
	p.held++
	p.heldBytes += bytes
	return true
}

// release takes one message with that many bytes off the counts of what is held back. The caller holds mu.
func (p *Plan) release(bytes int) {
	p.held--
	p.heldBytes -= bytes
}

// isLocal reports whether id is one of the plan's NIs. The caller holds mu.
func (p *Plan) isLocal(id nid.NID) bool {
	return slices.ContainsFunc(p.nis, func(ni *netIf) bool { return ni.nid == id })
}
