package socklnd

import (
	"context"
	"errors"
	"net/netip"
	"os"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// startDial opens a connection in a goroutine of its own. The caller holds
// p.mu.
func (p *peer) startDial(t ksock.ConnType, v ksock.Version) {
	p.ni.peers.Tasks.Go(func() {
		p.ni.dials.Begin()
		defer p.ni.dials.End()
		if !p.ni.dials.Closing() {
			p.dial(t, v)
		}
	})
}

// dial makes one attempt to connect and steps the connSet with its result.
func (p *peer) dial(t ksock.ConnType, v ksock.Version) {
	s, in := p.ni.open(p.id, t, v)
	p.mu.Lock()
	defer p.unlock()
	if p.removed || p.ni.peers.Ended() { // Shutdown finalizes the waiting messages
		if s != nil {
			s.close()
		}
		return
	}
	if in.kind != setDialled {
		p.report(in.err)
		p.step(in)
		return
	}
	if !p.register(s, in) {
		s.close()
	}
}

// register steps the connSet with a connection whose handshake is done, and attaches the
// connection if the set agrees. It reports whether it did. The caller holds p.mu.
func (p *peer) register(s *shake, in setInput) bool {
	p.step(in)
	if p.out.outcome == outcomeOutlived || in.kind == setDialled && p.out.outcome != outcomeAccept {
		return false
	}
	p.attach(newConn(p, &s.link), s.slot)
	return true
}

// errFamily means that the NID of a peer has no IP address, or an address of another family than
// the NI's.
var errFamily = errors.New("its address is not of the kind of this NI's")

// open connects to the peer and runs the active side of the handshake. The whole attempt takes
// sock_timeout at most. It has made a connection only if the kind of the returned input is setDialled.
func (ni *NI) open(id nid.ProcessID, t ksock.ConnType, v ksock.Version) (*shake, setInput) {
	fail := func(why Reason, err error) setInput {
		return setInput{kind: setDialFailed, err: newError(why, id, err)}
	}
	ctx, cancel := context.WithCancel(ni.ctx)
	defer cancel()
	patience := ni.patience.Now()
	timer := ni.clock.AfterFunc(patience, cancel)
	defer timer.Stop()
	addr := id.NID.Addr()
	if !addr.IsValid() || addr.Is4() != ni.addr.Is4() {
		return nil, fail(NoRoute, errFamily)
	}
	c, why, err := ni.connect(ctx, netip.AddrPortFrom(addr, ni.cfg.AcceptPort))
	if err != nil {
		return nil, fail(why, err)
	}
	s := newShake(ni, c, true, patience)
	stop := context.AfterFunc(ctx, s.expire)
	in := ni.greet(s, id, t, v)
	if !stop() && in.kind == setDialled {
		in = fail(ConnectTimeout, os.ErrDeadlineExceeded)
	}
	if in.kind != setDialled {
		s.close()
		return nil, in
	}
	return s, in
}

// greet sends acceptor request and HELLO and checks the answer. The result is the input for the connSet.
func (ni *NI) greet(s *shake, id nid.ProcessID, t ksock.ConnType, v ksock.Version) setInput {
	fail := func(why Reason, err error) setInput {
		return setInput{kind: setDialFailed, err: newError(why, id, err)}
	}
	b, err := ni.opening(id.NID, t, v)
	if err != nil {
		return fail(NoRoute, err)
	}
	if err := s.write(b); err != nil {
		return fail(readReason(err), err)
	}
	h, err := s.readHello(nil)
	switch {
	case isReadError(err):
		return fail(readReason(err), err)
	case err != nil:
		return fail(DialHelloBad, err)
	}
	s.version, s.bigEndian, s.ctype, s.incarnation = h.Version, h.BigEndian, t, h.SrcIncarnation
	return judge(id, t, v, &h)
}

// opening returns acceptor request and HELLO, which leave with one write.
func (ni *NI) opening(target nid.NID, t ksock.ConnType, v ksock.Version) ([]byte, error) {
	b, err := wire.NewAcceptorRequest(target).AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	h := ni.hello(v, t)
	h.DstNID = target
	return h.AppendBinary(b)
}

// judge checks the answer to a HELLO in the order of ksocknal_recv_hello. The result is the input for the connSet.
func judge(id nid.ProcessID, t ksock.ConnType, v ksock.Version, h *ksock.Hello) setInput {
	fail := func(kind setInputKind, why Reason, err error) setInput {
		return setInput{kind: kind, version: h.Version, err: newError(why, id, err)}
	}
	from := nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}
	switch {
	case from != id:
		return fail(setDialFailed, DialHelloPeer, errors.New("claims to be "+from.String()))
	case h.ConnType == ksock.None && h.Version == v:
		return fail(setRefused, DialRefused, nil)
	case h.ConnType == ksock.None:
		return fail(setOtherVersion, DialOtherVersion, nil)
	case h.ConnType.Invert() != t:
		return fail(setDialFailed, DialHelloType, errors.New(h.ConnType.String()))
	case h.Version != v:
		return fail(setDialFailed, DialHelloBad, ksock.ErrVersion)
	}
	return setInput{kind: setDialled, ctype: t, version: v, incarnation: h.SrcIncarnation}
}

// isReadError reports whether err means that the connection ended, and not that invalid bytes
// arrived.
func isReadError(err error) bool {
	for _, bad := range []error{ksock.ErrMagic, ksock.ErrVersion, ksock.ErrAddresses, ksock.ErrHelloType, ksock.ErrShort, nid.ErrSize} {
		if errors.Is(err, bad) {
			return false
		}
	}
	return err != nil
}

// readReason returns ConnectTimeout for a read that timed out, and DialHelloCut if the connection ended.
func readReason(err error) Reason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ConnectTimeout
	}
	return DialHelloCut
}
