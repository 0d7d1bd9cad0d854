package lnet

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
)

// HealthSettings are the settings of health and of sending again that an operator changes
// at run time.
type HealthSettings struct {
	// Sensitivity (lnet_health_sensitivity) is what a failure subtracts from a health of
	// 1000, and what a success adds: 0 to 1000. 0 turns health and resends off,
	// and gives all NIs their full health.
	Sensitivity int `json:"health_sensitivity"`
	// RetryCount (lnet_retry_count) is how often a message is sent again: 0 to 5.
	RetryCount int `json:"retry_count"`
	// TransactionTimeout (lnet_transaction_timeout) is how long an operation may take:
	// whole seconds, more than RetryCount.
	TransactionTimeout time.Duration `json:"transaction_timeout"`
	// Recovery says when NIs whose health is below 1000 are pinged.
	Recovery recovery.Settings `json:"recovery"`
}

// check returns an error if the settings are not valid.
func (s HealthSettings) check() error {
	limits := [...]struct {
		name        string
		value, most int
	}{
		{"health_sensitivity", s.Sensitivity, path.MaxHealth},
		{"retry_count", s.RetryCount, maxRetries},
	}
	for _, l := range limits {
		if l.value < 0 || l.value > l.most {
			return fmt.Errorf("%s is 0 to %d, not %d: %w", l.name, l.most, l.value, syscall.EINVAL)
		}
	}
	switch {
	case s.TransactionTimeout <= time.Duration(s.RetryCount)*time.Second:
		return fmt.Errorf("transaction_timeout has to be more seconds than retry_count, %d: %w", s.RetryCount, syscall.EINVAL)
	case s.Sensitivity == 0 && s.RetryCount > 0:
		return fmt.Errorf("retry_count is 0 while health_sensitivity is: set that first: %w", syscall.EINVAL)
	case s.Recovery.Limit < 0 || s.Recovery.MaxInterval < 0:
		return fmt.Errorf("negative interval of recovery: %w", syscall.EINVAL)
	}
	return nil
}

// maxRetries bounds RetryCount, with the kernel's value.
const maxRetries = 5

// health is the state of a Node about health and resends. The health of single NIs is not
// here, but in path.Local and path.Remote.
type health struct {
	settings atomic.Pointer[HealthSettings]
	setting  sync.Mutex                           // held while the NIs are told of new settings
	recover  atomic.Pointer[func(recovery.Input)] // function that gives the recovery machine an input; nil: no NI is pinged because of its health
	failures failureCounts
	resends  struct{ tried, successful, failed atomic.Uint64 }
	again    resender
}

func (h *health) init(cfg Config) {
	h.again.rested.L = &h.again.mu
	s := HealthSettings{
		Sensitivity: orElse(cfg.HealthSensitivity, 100), RetryCount: orElse(cfg.RetryCount, lnd.DefaultRetryCount),
		TransactionTimeout: cfg.TransactionTimeout, Recovery: cfg.Recovery,
	}
	if s.Sensitivity == 0 {
		s.RetryCount = 0
	}
	h.settings.Store(&s)
}

// orElse returns the value of a setting: usual if it is 0, and 0 if it is negative.
func orElse(value, usual int) int { return max(cmp.Or(value, usual), 0) }

// failureCounts counts failures by their class.
type failureCounts [lnd.NumFailures]atomic.Uint64

// Health returns the settings of health in force.
func (n *Node) Health() HealthSettings { return *n.state.settings.Load() }

// SetHealth replaces the settings of health. EINVAL, with the reason: they are not valid. NIs
// get the driver time-out that follows from the settings, except NIs that have one of their
// own.
func (n *Node) SetHealth(s HealthSettings) error {
	if err := s.check(); err != nil {
		return err
	}
	n.state.setting.Lock()
	was := n.state.settings.Swap(&s)
	for _, ni := range *n.nis.Load() {
		ni.followTimeout()
	}
	n.state.setting.Unlock()
	if s.Sensitivity == 0 && was.Sensitivity > 0 {
		n.forgetHealth()
	}
	n.tellRecovery(recovery.Input{Kind: recovery.Set, Settings: s.Recovery})
	return nil
}

// LNDTimeout is how long a driver may try: see [lnd.Timeout].
func (s HealthSettings) LNDTimeout() time.Duration {
	return lnd.Timeout(s.TransactionTimeout, s.RetryCount)
}

// followTimeout gives the driver the time-out that follows from the settings. The caller holds
// health.setting.
func (ni *NI) followTimeout() {
	if s, ok := ni.lower.(lnd.TimeoutSetter); ok && !ni.ownTimeout {
		s.SetTimeout(ni.node.Health().LNDTimeout())
	}
}

// SetTimeout changes how long the driver of a running NI tries. From then on this time does
// not follow the settings of the node. SetTimeout reports whether the driver can change it.
func (ni *NI) SetTimeout(d time.Duration) bool {
	s, ok := ni.lower.(lnd.TimeoutSetter)
	if ok {
		ni.node.state.setting.Lock()
		defer ni.node.state.setting.Unlock()
		ni.ownTimeout = true
		s.SetTimeout(d)
	}
	return ok
}

// SetRecoverer installs the function that is told how the health of NIs changes, to ping
// those that are not well; nil: they are not pinged. f is called without locks, in the
// goroutine that brought a message or its failure, and must not block. Whole and LastHeard of
// its input are not set: see [Node.Condition].
func (n *Node) SetRecoverer(f func(recovery.Input)) {
	if f == nil {
		n.state.recover.Store(nil)
	} else {
		n.state.recover.Store(&f)
	}
}

func (n *Node) tellRecovery(in recovery.Input) {
	if f := n.state.recover.Load(); f != nil {
		(*f)(in)
	}
}

// judge notes that m, for which p was the next hop, has failed, and reports whether it is to
// be sent again (lnet_health_check).
func (p *peerNI) judge(m *Message, err error) (again bool) {
	n, class := p.ni.node, lnd.FailureOf(err)
	if class == lnd.FailureNone {
		return false
	}
	n.state.failures[class].Add(1)
	c := recovery.Judge(p.describe(recovery.Case{Failure: class, Recovery: m.Recovery, Late: m.late(n)}))
	p.blame(class, c)
	if !c.Resend || m.Routed || m.RDMAReply || m.retries >= n.Health().RetryCount || m.aborted() {
		return false
	}
	m.retries++
	return true
}

// cut notes that a message from p ended half-way.
func (p *peerNI) cut() {
	p.ni.node.state.failures[lnd.RemoteError].Add(1)
	p.blame(lnd.RemoteError, recovery.Judge(p.describe(recovery.Case{Failure: lnd.RemoteError, Received: true})))
}

// describe completes a case with what is known of both NIs.
func (p *peerNI) describe(c recovery.Case) recovery.Case {
	n := p.ni.node
	c.Rails, c.PeerRails = n.rails(), p.remote.Peer().Rails()
	c.Router, c.Own = n.routedBy(p), n.niByNID(p.nid) != nil
	return c
}

// rails reports whether the node has two NIs or more beside lo.
func (n *Node) rails() bool {
	count := 0
	for _, ni := range *n.nis.Load() {
		if !ni.isLo() {
			count++
		}
	}
	return count > 1
}

// routedBy reports whether p is the NI of a gateway.
func (n *Node) routedBy(p *peerNI) bool {
	if known := p.known.Load(); known != nil && known.Flags.Has(PeerRouter) {
		return true
	}
	n.peers.mu.RLock()
	defer n.peers.mu.RUnlock()
	return p.remote.routes > 0
}

// blame lowers the health of the NIs that are to blame.
func (p *peerNI) blame(class lnd.Failure, c recovery.Consequence) {
	p.ni.failures[class].Add(1)
	p.remote.count(class)
	s := p.ni.node.Health().Sensitivity
	if s == 0 {
		return
	}
	if c.Local {
		p.ni.rail.AddHealth(-s)
		p.ni.tellHealth(recovery.Hurt)
	}
	if c.Remote {
		p.hurt(s)
	}
}

// hurt lowers the health of the peer NI; for a gateway the routes say by how much.
func (p *peerNI) hurt(by int) {
	p.remote.AddHealth(-p.ni.node.sensitivityOf(p.nid, by))
	p.tellHealth(recovery.Hurt)
}

func (ni *NI) tellHealth(kind recovery.Kind) {
	ni.node.tellRecovery(recovery.Input{Kind: kind, Target: recovery.Target{NID: ni.nid, Local: true}})
}

func (p *peerNI) tellHealth(kind recovery.Kind) {
	p.ni.node.reviewGateway(p.nid)
	p.ni.node.tellRecovery(recovery.Input{Kind: kind, Target: recovery.Target{NID: p.nid}})
}

// heal raises the health of the NI, because a message has left or arrived.
func (ni *NI) heal() {
	if ni.rail.Health() == path.MaxHealth {
		return
	}
	ni.rail.AddHealth(ni.node.Health().Sensitivity)
	ni.tellHealth(recovery.Heard)
}

// heal raises the health of the peer NI, because a message has come from it. If the peer NI is one
// of a router, or if this node is a router, heal raises the health to the full value.
func (p *peerNI) heal() {
	if p.remote.Health() == path.MaxHealth {
		return
	}
	if p.ni.node.forward.on.Load() || p.ni.node.routedBy(p) {
		p.remote.SetHealth(path.MaxHealth)
	} else {
		p.remote.AddHealth(p.ni.node.Health().Sensitivity)
	}
	p.tellHealth(recovery.Heard)
}

// Condition returns the health of an NI, and when a peer NI was heard last; negative: it
// never was. ok is false if there is no such NI.
func (n *Node) Condition(t recovery.Target) (health int, heard time.Duration, ok bool) {
	if t.Local {
		if ni := n.niByNID(t.NID); ni != nil {
			return ni.rail.Health(), -1, true
		}
		return 0, -1, false
	}
	n.peers.mu.RLock()
	defer n.peers.mu.RUnlock()
	r := n.peers.remotes[t.NID]
	if r == nil {
		return 0, -1, false
	}
	heard = -1
	for _, ni := range *n.nis.Load() {
		if p := n.peers.peers[peerKey{t.NID, ni}]; p != nil {
			heard = max(heard, p.contacts.heard())
		}
	}
	return r.Health(), heard, true
}

// heard returns the time at which any process was last heard; negative: never.
func (c *contacts) heard() time.Duration {
	last := time.Duration(-1)
	for k := c.first.Load(); k != nil; k = k.next.Load() {
		if at, ok := k.heard.load(); ok {
			last = max(last, at)
		}
	}
	return last
}

// SetNIHealth sets the health of an NI of this node, 0 to 1000. ENOENT: there is none.
func (n *Node) SetNIHealth(id nid.NID, value int) error {
	ni := n.niByNID(id)
	switch {
	case value < 0 || value > path.MaxHealth:
		return fmt.Errorf("health is 0 to %d, not %d: %w", path.MaxHealth, value, syscall.EINVAL)
	case ni == nil || ni.isLo():
		return fmt.Errorf("no NI %v: %w", id, syscall.ENOENT)
	}
	ni.rail.SetHealth(value)
	ni.tellHealth(recovery.Hurt)
	return nil
}

// SetPeerHealth sets the health of a NID of another node, 0 to 1000. ENOENT: it is not
// known.
func (n *Node) SetPeerHealth(id nid.NID, value int) error {
	if value < 0 || value > path.MaxHealth {
		return fmt.Errorf("health is 0 to %d, not %d: %w", path.MaxHealth, value, syscall.EINVAL)
	}
	r := n.Rail(id)
	if r == nil {
		return fmt.Errorf("no peer %v: %w", id, syscall.ENOENT)
	}
	r.SetHealth(value)
	n.reviewGateway(id)
	n.tellRecovery(recovery.Input{Kind: recovery.Hurt, Target: recovery.Target{NID: id}})
	return nil
}
