package route

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Default times of the checker.
const (
	DefaultCheckInterval = 60 * time.Second // alive_router_check_interval
	DefaultPingTimeout   = 50 * time.Second // router_ping_timeout
)

// answersWait is how much longer a check waits whose time is over when another gateway answers. If the process stood
// still, the answer to this check may be the next input of the caller.
const answersWait = time.Millisecond

// CheckerConfig has the times of a [Checker].
type CheckerConfig struct {
	Interval time.Duration // alive_router_check_interval, time between checks; 0 or less: no checks
	Timeout  time.Duration // router_ping_timeout, time-out of a check; above 0
}

// Target is a gateway that has to be checked.
type Target struct {
	Gateway nid.NID   // the NID by which the gateway is known
	NIDs    []nid.NID // the NIDs at which to ask the gateway: one on each net that it shares with this node
}

// CheckKind says what a CheckInput is.
type CheckKind uint8

// The kinds of inputs, with the fields of [CheckInput] that they use.
const (
	CheckTimer CheckKind = iota // the wake time has come
	Watch                       // uses Targets, Config: all gateways from now on, and the configuration
	Answered                    // uses Exchange, Err: the check of that ID has ended with that error
)

// CheckInput is one input of a [Checker]. The zero value says that its timer is due.
type CheckInput struct {
	Kind     CheckKind     // says which of the other fields are set
	Config   CheckerConfig // configuration from now on
	Targets  []Target      // all gateways that have to be checked
	Exchange uint64        // ID of the Check that has ended
	Err      error         // error of the check; nil: the gateway has answered
}

// CheckOutput is what a [Checker] asks for.
type CheckOutput struct {
	Changes []Change // changes of gateways, to carry out before Checks
	Checks  []Check  // checks to send
}

// Reset empties o, but keeps its memory for reuse.
func (o *CheckOutput) Reset() { o.Changes, o.Checks = o.Changes[:0], o.Checks[:0] }

// Change says that a check of a gateway has ended.
type Change struct {
	Gateway nid.NID // NID of the gateway, as in Target
	Alive   bool    // whether the gateway has answered
	Err     error   // why the gateway is not alive
}

// Check asks for a ping of a gateway, and for a push to it. An Answered input follows, unless
// the gateway is not a target any more. After the time-out a late success still counts; a late
// failure changes nothing.
type Check struct {
	Exchange uint64  // ID of the check, which Answered has, too
	Gateway  nid.NID // NID of the gateway, as in Target
	NID      nid.NID // the NID to ask: one of Target.NIDs
}

var _ machine.Machine[CheckInput, CheckOutput] = (*Checker)(nil)

// Checker decides when to check which gateway (lnet_check_routers): each once in an interval,
// on each net that the gateway shares with this node, with one check of a gateway at a time.
//
//	state     entered by                        left by
//	waiting   a check has ended                 its next check is due: checking
//	checking  a check was sent                  its answer or the time-out: waiting
type Checker struct {
	config  CheckerConfig
	last    uint64     // ID of the latest check; IDs increase
	targets []*checked // gateways in the order of Watch
	agenda  machine.Deadlines[*checked]
}

// checked is the state of a gateway that is checked.
type checked struct {
	gateway  nid.NID
	nets     []checkedNet
	exchange uint64                     // ID of the check in progress; 0: none
	expired  uint64                     // ID of the latest check that timed out; its answer still counts if it comes late
	due      machine.Deadline[*checked] // when the next check is due, or the present one times out
}

// checkedNet is a net on which a gateway is asked.
type checkedNet struct {
	nid nid.NID
	at  time.Duration // time of the next check
}

// Step implements machine.Machine.
func (c *Checker) Step(now time.Duration, in CheckInput, out *CheckOutput) (wake time.Duration) {
	switch in.Kind {
	case Watch:
		c.watch(now, in)
	case Answered:
		c.answered(in, out)
	}
	for d := c.agenda.Pop(now); d != nil; d = c.agenda.Pop(now) {
		if in.Kind == Answered && d.Of.exchange != 0 {
			c.agenda.Set(&d.Of.due, now+answersWait)
			continue
		}
		c.isDue(now, d.Of, out)
	}
	return c.agenda.Next()
}

// watch makes in.Targets the list of gateways that are checked. Gateways that were on the list before keep the times
// of their checks.
func (c *Checker) watch(now time.Duration, in CheckInput) {
	faster := in.Config.Interval < c.config.Interval || c.config.Interval <= 0
	c.config = in.Config
	old := c.targets
	c.targets = make([]*checked, 0, len(in.Targets))
	for _, t := range in.Targets {
		i := slices.IndexFunc(old, func(o *checked) bool { return o.gateway == t.Gateway })
		next := &checked{gateway: t.Gateway}
		next.due.Of = next
		if i >= 0 {
			next = old[i]
			old = slices.Delete(old, i, i+1)
		}
		next.setNets(now, t.NIDs)
		if faster {
			next.hurry(now + max(c.config.Interval, 0))
		}
		c.targets = append(c.targets, next)
		if next.exchange == 0 {
			c.plan(next)
		}
	}
	for _, gone := range old {
		c.agenda.Clear(&gone.due)
	}
}

func (t *checked) setNets(now time.Duration, ids []nid.NID) {
	old := t.nets
	t.nets = make([]checkedNet, 0, len(ids))
	for _, id := range ids {
		net := checkedNet{id, now}
		if i := slices.IndexFunc(old, func(o checkedNet) bool { return o.nid.Net() == id.Net() }); i >= 0 {
			net.at = old[i].at
		}
		t.nets = append(t.nets, net)
	}
}

// hurry moves the next check on each net to the given instant, unless it is due earlier.
func (t *checked) hurry(until time.Duration) {
	for i := range t.nets {
		t.nets[i].at = min(t.nets[i].at, until)
	}
}

// plan sets the next check of a gateway that is waiting.
func (c *Checker) plan(t *checked) {
	if c.config.Interval <= 0 || len(t.nets) == 0 {
		c.agenda.Clear(&t.due)
		return
	}
	c.agenda.Set(&t.due, t.next().at)
}

func (t *checked) next() *checkedNet {
	next := &t.nets[0]
	for i := range t.nets {
		if t.nets[i].at < next.at {
			next = &t.nets[i]
		}
	}
	return next
}

// isDue handles a gateway whose deadline has come: it sends the check that is due, or ends
// one that was not answered.
func (c *Checker) isDue(now time.Duration, t *checked, out *CheckOutput) {
	if t.exchange != 0 {
		t.expired = t.exchange
		c.end(t, out, syscall.ETIMEDOUT)
		return
	}
	net := t.next()
	net.at = now + c.config.Interval
	c.last++
	t.exchange = c.last
	c.agenda.Set(&t.due, now+c.config.Timeout)
	out.Checks = append(out.Checks, Check{t.exchange, t.gateway, net.nid})
}

// end notes the result of a check.
func (c *Checker) end(t *checked, out *CheckOutput, err error) {
	t.exchange = 0
	out.Changes = append(out.Changes, Change{t.gateway, err == nil, err})
	c.plan(t)
}

func (c *Checker) answered(in CheckInput, out *CheckOutput) {
	for _, t := range c.targets {
		switch {
		case in.Exchange == 0:
		case t.exchange == in.Exchange:
			c.end(t, out, in.Err)
		case t.expired == in.Exchange && in.Err == nil: // a success counts although it came late
			t.expired = 0
			out.Changes = append(out.Changes, Change{Gateway: t.gateway, Alive: true})
		}
	}
}
