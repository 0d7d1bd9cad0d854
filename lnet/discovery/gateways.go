package discovery

import (
	"cmp"
	"sync"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/route"
)

// gateways checks the gateways of a node by discovery. The goroutine that brings an input steps
// the checker on it.
type gateways struct {
	agent *Agent
	node  *lnet.Node

	mu      sync.Mutex
	config  route.CheckerConfig // settings of the checks; guarded by mu, like all fields below
	checker route.Checker
	alarm   machine.Alarm
	closed  bool
}

// start begins to check the gateways of the node's routes, also of routes that are added
// later.
func (g *gateways) start(a *Agent, cfg Config) {
	g.agent, g.node = a, a.node
	g.alarm = machine.Alarm{Clock: a.node.Clock(), Call: func() {
		g.agent.stepQueued() // as in changed
		g.step(route.CheckInput{Kind: route.CheckTimer})
	}}
	g.set(cfg.CheckInterval, cfg.CheckTimeout)
	a.node.OnRouteChange(g.changed)
	a.node.OnNIChange(g.changed)
	g.changed()
}

// set changes the settings of the checks; see [Config].
func (g *gateways) set(interval, timeout time.Duration) {
	interval = cmp.Or(interval, route.DefaultCheckInterval)
	if timeout <= 0 {
		timeout = route.DefaultPingTimeout
	}
	g.mu.Lock()
	g.config = route.CheckerConfig{Interval: interval, Timeout: timeout}
	g.mu.Unlock()
}

// SetGatewayChecks changes Config.CheckInterval and Config.CheckTimeout while the agent runs. A
// check that is under way keeps the time that it has.
func (a *Agent) SetGatewayChecks(interval, timeout time.Duration) {
	a.checks.set(interval, timeout)
	a.checks.changed()
}

// GatewayChecks returns how often gateways are checked, negative for never, and how long one may
// take to answer.
func (a *Agent) GatewayChecks() (interval, timeout time.Duration) {
	a.checks.mu.Lock()
	defer a.checks.mu.Unlock()
	return a.checks.config.Interval, a.checks.config.Timeout
}

// changed tells discovery and the checker which gateways there are. It reads the list of gateways and passes it on
// under one lock, so an older list never follows a newer one. It carries out the results without a lock, because they
// may cause changes of routes. First, discovery handles the inputs in its inbox: an answer of a gateway may be there
// that the checker would otherwise report as missing. At the end, discovery handles the inputs that have come
// meanwhile.
func (g *gateways) changed() {
	g.agent.stepQueued()
	g.mu.Lock()
	targets, nets := g.node.Gateways(), g.node.RoutedNets()
	routes := engine.Input{Kind: engine.RoutesAre, Beyond: nets}
	for _, t := range targets {
		routes.Gateways = append(routes.Gateways, t.Gateway)
	}
	g.agent.queueRoutes(routes)
	out := g.advance(route.CheckInput{Kind: route.Watch, Targets: targets})
	g.mu.Unlock()
	g.apply(&out)
	g.agent.stepQueued()
}

// step steps the checker and carries out its output.
func (g *gateways) step(in route.CheckInput) {
	g.mu.Lock()
	out := g.advance(in)
	g.mu.Unlock()
	g.apply(&out)
}

// advance steps the checker and sets the timer. The caller holds g.mu.
func (g *gateways) advance(in route.CheckInput) (out route.CheckOutput) {
	if g.closed {
		return out
	}
	now := g.node.Clock().Now()
	in.Config = g.config
	g.alarm.Set(now, g.checker.Step(now, in, &out))
	return out
}

// apply carries out an output of the checker. The functions that it calls may step the checker again.
func (g *gateways) apply(out *route.CheckOutput) {
	for _, c := range out.Changes {
		g.node.GatewayChecked(c.Gateway, c.Err)
	}
	for _, c := range out.Checks {
		g.check(c)
	}
}

// check pings the gateway c.NID and pushes to it.
func (g *gateways) check(c route.Check) {
	g.agent.refresh(c.NID, true, func(err error) {
		g.step(route.CheckInput{Kind: route.Answered, Exchange: c.Exchange, Err: err})
	})
}

func (g *gateways) close() {
	g.mu.Lock()
	g.closed = true
	g.alarm.Stop()
	g.mu.Unlock()
}
