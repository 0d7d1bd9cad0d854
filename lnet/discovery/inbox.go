package discovery

import (
	"slices"
	"syscall"

	"ulnet/lnet/discovery/engine"
)

// keptInputs bounds the memory of the inbox that is kept for its next use, in inputs.
const keptInputs = 1024

// request is an input that waits to be stepped.
type request struct {
	engine.Input
	ended func(error) // for a Refresh: called when the discovery ends; may be nil
}

// input steps the machine with the input in, and with the inputs that result from it.
func (a *Agent) input(in engine.Input) { a.take(request{Input: in}) }

// take steps the machine with a request, or refuses it after Close.
func (a *Agent) take(r request) { refuse(a.run(r)) }

// refuse tells the callers of requests that the agent is closed.
func refuse(list []request) {
	for _, r := range list {
		if r.ended != nil {
			r.ended(syscall.ESHUTDOWN)
		}
	}
}

// run steps the machine with a request, and with the requests that result from it. Only one goroutine does so at a
// time. After Close, run returns the requests that were not stepped. The inbox holds the end of each exchange under
// way, the pushes that were taken, the latest routes, a Discover for each peer NI with waiting messages, a Refresh
// for each call of Discover that has just begun, and a Forget for each node that lnet has just forgotten. The tables
// of peers bound all of these but the calls.
func (a *Agent) run(r request) (refused []request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inbox = append(a.inbox, r)
	return a.drain()
}

// queueRoutes puts an input of kind RoutesAre into the inbox, for stepQueued or the goroutine that is stepping. If the
// last input in the inbox is an older one of this kind, queueRoutes replaces it, so that many changes of routes take
// the memory of one.
func (a *Agent) queueRoutes(in engine.Input) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.inbox); n > 0 && a.inbox[n-1].Kind == engine.RoutesAre {
		a.inbox = a.inbox[:n-1]
	}
	a.inbox = append(a.inbox, request{Input: in})
}

// stepQueued steps the machine with the inputs in the inbox, or refuses them after Close.
func (a *Agent) stepQueued() {
	a.mu.Lock()
	refused := a.drain()
	a.mu.Unlock()
	refuse(refused)
}

// drain does what run does, for the requests that the inbox has already. The caller holds a.mu, which drain releases
// meanwhile.
func (a *Agent) drain() (refused []request) {
	if a.stepping {
		return nil
	}
	a.stepping = true
	for len(a.inbox) > 0 && !a.closed {
		a.batch, a.inbox = a.inbox, a.batch[:0]
		for i := 0; i < len(a.batch) && !a.closed; i++ {
			if a.followTimeout(); !a.closed {
				r := a.batch[i]
				a.batch[i] = request{}
				a.step(r)
			}
		}
	}
	a.stepping = false
	if a.closed {
		refused = slices.Concat(a.batch, a.inbox)
	}
	if a.closed || cap(a.inbox)+cap(a.batch) > keptInputs {
		a.inbox, a.batch = nil, nil
	}
	return refused
}

// followTimeout tells the machine the node's transaction timeout if that has changed. The caller holds a.mu, which
// followTimeout may release meanwhile.
func (a *Agent) followTimeout() {
	if timeout := a.node.TransactionTimeout(); timeout != a.timeout && !a.fixed {
		a.timeout = timeout
		a.step(request{Input: engine.Input{Kind: engine.LimitIs, Timeout: timeout}})
	}
}

// step steps the machine on one request and carries out its output. The caller holds a.mu, which step releases while
// it carries out the output. If the request waits for the end of a discovery, only an end that is reported from now
// on counts: a discovery whose end was reported while the request lay in the inbox had begun before the request.
func (a *Agent) step(r request) {
	if r.ended != nil {
		a.asked[r.NID] = append(a.asked[r.NID], r.ended)
	}
	a.out.Reset()
	now := a.node.Clock().Now()
	a.alarm.Set(now, a.machine.Step(now, r.Input, &a.out))
	a.mu.Unlock()
	a.apply(&a.out)
	if r.Kind == engine.Pushed {
		a.pushes.again(r.Need)
	}
	a.mu.Lock()
}

// apply carries out an output of the machine.
func (a *Agent) apply(out *engine.Output) {
	for _, id := range out.Cancelled {
		a.unlink(id)
	}
	for _, id := range out.Gone {
		a.node.ForgetPeerNID(id)
	}
	for _, p := range out.Peers {
		a.node.SetPeer(p)
	}
	for _, d := range out.Done {
		a.node.Discovered(d.NID, d.Err)
		a.mu.Lock()
		asked := a.asked[d.NID]
		delete(a.asked, d.NID)
		a.mu.Unlock()
		for _, done := range asked {
			done(d.Err)
		}
	}
	for _, s := range out.Sends {
		a.send(s)
	}
	a.edited(out.Edited)
}
