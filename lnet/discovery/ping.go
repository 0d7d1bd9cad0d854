package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// PingOptions are the options of a ping; the zero value is the default.
type PingOptions struct {
	Source  nid.NID       // local NID to ping from; zero lets LNet choose
	Timeout time.Duration // time limit of the whole exchange; 0 means 5 s
	// Size is the room for the answer in bytes; 0 means 3960, as in lnetctl. An answer
	// that does not fit is asked for again with enough room.
	Size int

	recovery bool // the ping tests whether an NI works again
}

const (
	defaultPingTimeout = 5 * time.Second
	defaultPingSize    = 3960
	// maxPingSize has room for as many interfaces as any release allows.
	maxPingSize = 16 + 4096*24
)

// Ping asks a node for its ping info, and once more if it turns out that the node has
// restarted. Errors wrap an errno: ETIMEDOUT when no answer came, EPROTO when the answer was
// no ping info, otherwise why the GET could not be sent.
func Ping(ctx context.Context, table *portals.Table, dst nid.ProcessID, o PingOptions) (wire.PingInfo, error) {
	type result struct {
		info wire.PingInfo
		err  error
	}
	done := make(chan result, 1)
	p := StartPing(table, dst, o, func(info wire.PingInfo, err error) { done <- result{info, err} })
	select {
	case r := <-done:
		return r.info, r.err
	case <-ctx.Done():
		p.Cancel(context.Cause(ctx))
		r := <-done
		return r.info, r.err
	}
}

// Pinger is one ping in progress.
type Pinger struct {
	table *portals.Table
	dst   nid.ProcessID
	opts  PingOptions
	done  func(wire.PingInfo, error)
	timer machine.Timer

	again bool // the second try has begun; used only by the handler

	mu    sync.Mutex
	md    portals.MDHandle // MD of the present try; guarded by mu
	ended bool             // the ping has ended; guarded by mu
}

// StartPing begins a ping and returns at once. done is called exactly once, in
// a handler or timer, and must not block.
func StartPing(table *portals.Table, dst nid.ProcessID, o PingOptions, done func(wire.PingInfo, error)) *Pinger {
	if o.Timeout <= 0 {
		o.Timeout = defaultPingTimeout
	}
	if o.Size <= 0 {
		o.Size = defaultPingSize
	}
	dst.PID = cmp.Or(dst.PID, nid.LustrePID)
	p := &Pinger{table: table, dst: dst, opts: o, done: done}
	p.mu.Lock()
	p.timer = table.Node().Clock().AfterFunc(o.Timeout, func() { p.end(wire.PingInfo{}, syscall.ETIMEDOUT) })
	p.mu.Unlock()
	p.try(o.Size)
	return p
}

// Cancel ends the ping with an error, unless it has ended.
func (p *Pinger) Cancel(cause error) { p.end(wire.PingInfo{}, cause) }

// try sends a GET with room for size bytes.
func (p *Pinger) try(size int) {
	buffer := make([]byte, size)
	md, err := p.table.MDBind(portals.MD{
		Segments:  []lnd.Segment{buffer},
		Threshold: 2, // two operations: the GET and its REPLY
		Options:   portals.Truncate | portals.TrackResponse,
		Handler:   func(e *portals.Event) { p.event(e) },
	}, portals.Unlink)
	if err != nil {
		p.end(wire.PingInfo{}, err)
		return
	}
	p.mu.Lock()
	p.md = md
	ended := p.ended
	p.mu.Unlock()
	if ended { // the ping timed out before this MD was known
		_ = p.table.MDUnlink(md)
		return
	}
	err = p.table.Get(portals.GetRequest{
		Self: p.opts.Source, MD: md, Target: p.dst, Portal: wire.PingPortal, MatchBits: wire.PingMatchBits,
		Recovery: p.opts.recovery,
	})
	if err != nil {
		p.end(wire.PingInfo{}, err)
	}
}

func (p *Pinger) event(e *portals.Event) {
	p.mu.Lock()
	current := e.MD == p.md
	p.mu.Unlock()
	switch {
	case !current: // the event belongs to an earlier try, which this ping has given up
	case e.Kind == portals.EventUnlink:
	case errors.Is(e.Err, syscall.ESTALE) && !p.again:
		// The GET went to an earlier incarnation of the node; the driver knows the new one.
		p.again = true
		_ = p.table.MDUnlink(e.MD) // ENOENT means that the failure has unlinked the MD
		p.try(p.opts.Size)
	case e.Err != nil:
		p.end(wire.PingInfo{}, e.Err)
	case e.Kind == portals.EventReply:
		p.reply(e.Bytes())
	}
}

func (p *Pinger) reply(b []byte) {
	info, _, err := wire.ParsePingInfo(b)
	var short *wire.TruncatedError
	switch {
	case err == nil:
		p.end(info, nil)
	case errors.As(err, &short) && short.Size <= maxPingSize && short.Size > p.opts.Size:
		p.opts.Size = short.Size
		p.try(short.Size)
	default:
		p.end(wire.PingInfo{}, fmt.Errorf("%w: %w", syscall.EPROTO, err))
	}
}

func (p *Pinger) end(info wire.PingInfo, err error) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	md, timer := p.md, p.timer
	p.mu.Unlock()
	timer.Stop()
	if md != 0 {
		_ = p.table.MDUnlink(md) // ENOENT means that the REPLY has used up the MD
	}
	if err != nil {
		err = fmt.Errorf("ping %v: %w", p.dst.NID, err)
	}
	p.done(info, err)
}
