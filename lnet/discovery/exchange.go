package discovery

import (
	"errors"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// send sends a ping or push of the machine.
func (a *Agent) send(s engine.Send) {
	target := nid.ProcessID{NID: s.To, PID: nid.LustrePID}
	var err error
	if s.Push {
		err = a.sendPush(s, target)
	} else {
		err = a.sendPing(s, target)
	}
	if err != nil {
		a.unlink(s.Exchange)
		a.input(engine.Input{Kind: engine.Failed, Exchange: s.Exchange, Err: err})
	}
}

func (a *Agent) sendPing(s engine.Send, target nid.ProcessID) error {
	md, err := a.bind(s.Exchange, make([]byte, s.Room), func(e *portals.Event) {
		if e.Kind != portals.EventReply {
			return
		}
		in := came(e, engine.Input{Kind: engine.Replied, Exchange: s.Exchange})
		in.Info, in.Need, in.Err = parseInfo(e.Bytes(), s.Room)
		a.input(in)
	})
	if err != nil {
		return err
	}
	return a.table.Get(portals.GetRequest{
		Self: s.From, MD: md, Target: target, Portal: wire.PingPortal, MatchBits: wire.PingMatchBits,
		Recovery: s.Probe,
	})
}

func (a *Agent) sendPush(s engine.Send, target nid.ProcessID) error {
	info := a.target.Info()
	bytes, err := info.AppendBinary(nil)
	if err != nil {
		return err
	}
	md, err := a.bind(s.Exchange, bytes, func(e *portals.Event) {
		if e.Kind == portals.EventAck {
			a.input(came(e, engine.Input{Kind: engine.Acked, Exchange: s.Exchange, Sequence: info.Sequence}))
		}
	})
	if err != nil {
		return err
	}
	return a.table.Put(portals.PutRequest{
		Self: s.From, MD: md, Ack: true, Target: target, Portal: wire.PingPortal, MatchBits: wire.PingMatchBits,
	})
}

// came adds to an input the NID from which the message of an event came. That is the NID at the
// other end of the connection, whatever the header says, unless a router brought the message.
func came(e *portals.Event, in engine.Input) engine.Input {
	in.Local, in.Remote, in.Incarnation = e.Target.NID, e.Sender, e.Incarnation
	if e.Source.NID.IsValid() && e.Source.NID.Net() != e.Sender.Net() { // the message came through a router, which has checked the source
		in.Remote = e.Source.NID
	}
	in.User = e.Source.PID&nid.UserPID != 0
	return in
}

// bind makes the MD of an exchange, for the message and its answer. It reports failures to the
// machine. It calls event for all other events.
func (a *Agent) bind(exchange uint64, buffer []byte, event func(*portals.Event)) (portals.MDHandle, error) {
	md, err := a.table.MDBind(portals.MD{
		Segments: []lnd.Segment{buffer}, Threshold: 2, Options: portals.Truncate | portals.TrackResponse,
		Handler: func(e *portals.Event) {
			switch {
			case e.Kind == portals.EventUnlink:
				if a.forget(exchange) != 0 { // the agent did not unlink the MD: no answer came within the transaction timeout
					a.input(engine.Input{Kind: engine.Failed, Exchange: exchange, Err: syscall.ETIMEDOUT})
				}
			case e.Err != nil:
				a.unlink(exchange)
				a.input(engine.Input{Kind: engine.Failed, Exchange: exchange, Err: e.Err})
			default:
				event(e)
			}
			if e.Unlinked {
				a.forget(exchange)
			}
		},
	}, portals.Unlink)
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	closed := a.closed
	if !closed {
		a.exchanges[exchange] = md
	}
	a.mu.Unlock()
	if closed {
		return 0, errors.Join(syscall.ESHUTDOWN, a.table.MDUnlink(md))
	}
	return md, nil
}

// forget removes an exchange from the table, and returns the handle of its MD, or 0 if the
// exchange is not there.
func (a *Agent) forget(exchange uint64) portals.MDHandle {
	a.mu.Lock()
	defer a.mu.Unlock()
	md := a.exchanges[exchange]
	delete(a.exchanges, exchange)
	return md
}

// unlink ends the MD of an exchange, if it is still there.
func (a *Agent) unlink(exchange uint64) {
	if md := a.forget(exchange); md != 0 {
		_ = a.table.MDUnlink(md) // ENOENT means that the exchange has just ended
	}
}
