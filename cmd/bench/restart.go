package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// Parameters of goal G-OP-4.
const (
	restartRest   = 5 * restartTry / 2   // time between two restarts; longer than both tries of an operation take
	restartEvery  = 5 * time.Millisecond // time between two operations of the peer
	restartTry    = time.Second          // how long the peer waits for an answer before it tries again
	restartAnswer = 300                  // bound of the time until the next lnetd answers, in ms
	restartPortal = 30
	restartBytes  = 4 << 10
)

// measureRestart measures goal G-OP-4: what a peer, whose operations never stop, notices of restarts
// of lnetd under a service manager that keeps the listening socket.
func measureRestart(b *measurement) {
	d := newRestarted(b)
	p := newRetrier(b, d)
	p.work(b.ctx)
	defer p.stop()
	var first []float64
	rest := pick(b, restartRest/10, restartRest, restartRest)
	for range pick(b, 2, 10, 50) {
		b.check(wait(b.ctx, rest))
		signalled, ended := d.restart()
		answered := must(p.answerAfter(b.ctx, ended))
		first = append(first, answered.Sub(signalled).Seconds()*1000)
	}
	b.check(wait(b.ctx, rest))
	p.stop()
	basis := fmt.Sprintf("%d restarts", len(first))
	b.add(
		line{what: "failed operations of a peer that tries twice", ratio: float64(p.failed), unit: "operations", basis: fmt.Sprintf(
			"%s, %d PUTs and GETs, %d of them tried again", basis, p.done, p.again)},
		line{what: "time from SIGTERM to the first answer of the next lnetd", ratio: median(first), unit: "ms", limit: restartAnswer, basis: fmt.Sprintf(
			"%s, the longest %.0f ms", basis, slices.Max(first))},
	)
}

// outcome says when an operation began and ended, and with which result.
type outcome struct {
	began, ended time.Time
	tries        int
	err          error // error of the last try; nil: it was answered
}

// retrier is a peer whose operations begin at regular intervals, even if earlier ones have not ended.
// After an error each operation is tried once more.
type retrier struct {
	*node
	target   nid.ProcessID
	outcomes chan outcome
	answers  chan outcome // operations that were answered at the first try; further ones are dropped while the channel is full
	halt     func()       // ends the operations and waits for them

	// Numbers of operations: those that have ended, those of them that were tried a second time, and those whose
	// second try failed as well. They may be read after stop.
	done, again, failed int
}

func newRetrier(b *measurement, d *restarted) *retrier {
	n := newNode(ownAddr, d.port, lnd.Tunables{})
	b.ends = append(b.ends, n.close)
	return &retrier{node: n, target: processAt(peerAddr), outcomes: make(chan outcome), answers: make(chan outcome, 1)}
}

// work begins the operations.
func (p *retrier) work(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for o := range p.outcomes {
			p.count(o)
		}
	}()
	started := make(chan struct{})
	go func() {
		defer close(started)
		p.begin(ctx)
	}()
	p.halt = func() {
		cancel()
		<-started
		<-counted
	}
}

// stop ends the operations. A second call does nothing.
func (p *retrier) stop() { p.halt() }

// begin begins operations, PUT and GET in turn, until ctx ends, and waits for their ends.
func (p *retrier) begin(ctx context.Context) {
	tick := time.NewTicker(restartEvery)
	defer tick.Stop()
	running := make(chan struct{}, 4096)
	for i := 0; ctx.Err() == nil; i++ {
		running <- struct{}{}
		go func() {
			p.outcomes <- p.operate(i%2 == 0)
			<-running
		}()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	for range cap(running) {
		running <- struct{}{}
	}
	close(p.outcomes)
}

// count counts an operation that has ended.
func (p *retrier) count(o outcome) {
	p.done++
	if o.tries > 1 {
		p.again++
	}
	if o.err != nil {
		p.failed++
	} else if o.tries == 1 {
		select {
		case p.answers <- o:
		default:
		}
	}
}

// answerAfter waits for the first answer to an operation that began after a time, and returns when it
// came.
func (p *retrier) answerAfter(ctx context.Context, after time.Time) (time.Time, error) {
	for {
		select {
		case o := <-p.answers:
			if o.began.After(after) {
				return o.ended, nil
			}
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}

// operate performs an operation, and tries it once more if it fails.
func (p *retrier) operate(put bool) (o outcome) {
	o.began = time.Now()
	for o.tries = 1; ; o.tries++ {
		o.err = caught(func() { p.try(put) })
		o.ended = time.Now()
		if o.err == nil || o.tries == 2 {
			return o
		}
	}
}

// try sends a PUT, or asks for the ping info by a GET, and waits for the answer.
func (p *retrier) try(put bool) {
	answered := make(chan error, 1)
	md := p.bind(restartBytes, func(e *portals.Event) {
		if e.Kind == portals.EventSend && e.Err == nil {
			return
		}
		select {
		case answered <- e.Err:
		default: // answered has the first result already, which counts
		}
	}, nil)
	defer func() { _ = p.table.MDUnlink(md) }() // an error means that the MD was unlinked already
	if put {
		succeed(p.table.Put(portals.PutRequest{MD: md, Ack: true, Target: p.target, Portal: restartPortal, Timeout: restartTry}))
	} else {
		succeed(p.table.Get(portals.GetRequest{
			MD: md, Target: p.target, Portal: wire.PingPortal, MatchBits: wire.PingMatchBits, Timeout: restartTry,
		}))
	}
	succeed(<-answered)
}
