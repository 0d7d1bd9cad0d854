package socklnd

import (
	"errors"
	"math/bits"
	"os"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// refusal is the result of a handshake of an accepted connection that failed.
type refusal struct {
	why    Reason // reason to count; ReasonNone: it has been counted
	err    error
	answer []byte // written before the connection is closed; may be empty
}

// serve runs the passive side of the handshake after the acceptor request: HELLO and answer
// (socklnd ksocknal_recv_hello, ksocknal_create_conn). A nil result means that the connection now
// belongs to a peer. settle is called just before that: if it returns false, the handshake has been
// evicted, and fails.
func (ni *NI) serve(s *shake, settle func() bool) *refusal {
	h, r := ni.checkHello(s)
	if r != nil {
		return r
	}
	return ni.welcome(s, &h, settle)
}

// readRefusal makes the refusal for a failed read.
func readRefusal(err error, timeout, cut Reason) *refusal {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &refusal{why: timeout}
	}
	return &refusal{why: cut, err: err}
}

// readWanted reads the acceptor request and returns the NID that it asks for.
func readWanted(s *shake) (nid.NID, *refusal) {
	req, err := s.readRequest()
	switch {
	case errors.Is(err, wire.ErrGenericMagic):
		return req.NID, &refusal{why: GenericMagic, answer: acceptorRefusal()}
	case errors.Is(err, wire.ErrMagic):
		return req.NID, &refusal{why: AcceptorMagic}
	case errors.Is(err, wire.ErrVersion):
		return req.NID, &refusal{why: AcceptorVersion, answer: acceptorRefusal()}
	case errors.Is(err, nid.ErrSize):
		return req.NID, &refusal{why: ForeignNID, err: err}
	case err != nil:
		return req.NID, readRefusal(err, AcceptorTimeout, AcceptorCut)
	}
	return req.NID, nil
}

func acceptorRefusal() []byte {
	b, _ := wire.AcceptorRefusal().AppendBinary(nil) // the refusal is a constant, so there is no error
	return b
}

// checkHello reads the HELLO and checks what can be checked without knowing
// the peer.
func (ni *NI) checkHello(s *shake) (ksock.Hello, *refusal) {
	h, err := s.readHello(ni.versions().includes)
	switch {
	case errors.Is(err, ksock.ErrMagic):
		return h, &refusal{why: HelloMagic}
	case errors.Is(err, ksock.ErrVersion), errors.Is(err, errForeignVersion):
		return h, &refusal{why: HelloVersion, err: err, answer: ni.versionRefusal()}
	case errors.Is(err, ksock.ErrAddresses):
		return h, &refusal{why: HelloAddresses}
	case errors.Is(err, ksock.ErrHelloType):
		return h, &refusal{why: HelloType, err: err}
	case errors.Is(err, nid.ErrSize):
		return h, &refusal{why: HelloSource, err: err}
	case err != nil:
		return h, readRefusal(err, HelloTimeout, HelloCut)
	}
	switch err := h.Validate(); {
	case errors.Is(err, ksock.ErrAddresses):
		return h, &refusal{why: HelloAddresses}
	case errors.Is(err, ksock.ErrSourceNID):
		return h, &refusal{why: HelloSource}
	case err != nil, h.ConnType == ksock.None:
		return h, &refusal{why: HelloType}
	}
	return h, nil
}

// hello returns a HELLO with the fields of this side set.
func (ni *NI) hello(v ksock.Version, t ksock.ConnType) ksock.Hello {
	return ksock.Hello{
		Version: v, SrcNID: ni.nid, SrcPID: ni.pid,
		SrcIncarnation: ni.incarnation, ConnType: t,
	}
}

// answer returns the HELLO that answers h, with the connection type t.
func (ni *NI) answer(h *ksock.Hello, peer nid.NID, t ksock.ConnType) []byte {
	a := ni.hello(h.Version, t)
	a.DstNID, a.DstPID, a.DstIncarnation = peer, h.DstPID, h.DstIncarnation
	switch {
	case h.Version == ksock.V1:
		a.DstPID = 0 // answers of version 1 have no destination PID
	case h.BigEndian && h.Version < ksock.V4:
		// The answer that a kernel gives: it reads a NID of the other byte order without swapping
		// it, and loses the top byte in the answer. Kernels do not check this NID.
		a.DstNID = nid.From4(bits.ReverseBytes64(h.SrcNID.Value4()) << 8 >> 8)
	}
	b, err := a.AppendBinary(nil)
	if err != nil { // the NID does not fit into 8 bytes
		a.DstNID = nid.NID{}
		b, _ = a.AppendBinary(nil)
	}
	return b
}

// welcome decides whether the connection becomes one of the peer that h names. It returns nil if so, else
// the refusal.
func (ni *NI) welcome(s *shake, h *ksock.Hello, settle func() bool) *refusal {
	id, renamed := ni.identity(s, h)
	if !renamed {
		if r := ni.checkIdentity(s, id.NID); r != nil {
			return r
		}
	}
	s.version, s.bigEndian, s.ctype, s.incarnation = h.Version, h.BigEndian, h.ConnType.Invert(), h.SrcIncarnation
	p, out := ni.decide(id, setInput{
		kind: setHello, ctype: s.ctype, version: h.Version, incarnation: h.SrcIncarnation,
		sameHost: s.local.Addr() == s.remote.Addr(),
	})
	if out.outcome != outcomeAccept {
		r := &refusal{why: refusalReasons[out.outcome]}
		if out.outcome != outcomeNone {
			r.answer = ni.answer(h, id.NID, ksock.None)
		}
		return r
	}
	s.generation = out.generation
	r := p.finish(s, ni.answer(h, id.NID, h.ConnType.Invert()), settle)
	if r != nil {
		p.forget()
	}
	return r
}

// finish writes the answer that accepts a connection, and gives the connection to the peer. It returns nil if that
// has succeeded.
func (p *peer) finish(s *shake, answer []byte, settle func() bool) *refusal {
	if err := s.write(answer); err != nil || !settle() {
		p.acceptFailed(s)
		return &refusal{why: HelloWriteFailed, err: err}
	}
	return p.accepted(s)
}

var refusalReasons = map[setOutcome]Reason{
	outcomeNone:      ShuttingDown,
	outcomeRace:      RefusedRace,
	outcomeDuplicate: RefusedDuplicate,
	outcomeRestarted: RefusedRestart,
	outcomeVersion:   RefusedProtocol,
}

// decide asks the connSet of the peer id about a connection that this peer opens. The result is nil
// if the NI has ended.
func (ni *NI) decide(id nid.ProcessID, in setInput) (*peer, setOutput) {
	for {
		p := ni.peers.Get(id)
		if p == nil {
			return nil, setOutput{}
		}
		p.mu.Lock()
		if p.removed {
			p.mu.Unlock()
			continue
		}
		p.step(in)
		out := p.out
		p.unlock()
		return p, out
	}
}

// accepted attaches an accepted connection after our answer was written, and returns nil. It refuses the
// connection if the NI has ended, or if all connections of the peer were closed while the answer was
// written; the reason for which they were closed has been counted.
func (p *peer) accepted(s *shake) *refusal {
	p.mu.Lock()
	defer p.unlock()
	switch {
	case p.removed:
		return &refusal{why: ShuttingDown}
	case !p.register(s, setInput{kind: setAccepted, ctype: s.ctype, version: s.version, generation: s.generation}):
		return &refusal{why: ReasonNone}
	}
	return nil
}

// acceptFailed tells the connSet that a handshake it had accepted did not complete: our HELLO could not be
// written, or another handshake took its slot. The connSet no longer counts the connection.
func (p *peer) acceptFailed(s *shake) {
	p.mu.Lock()
	defer p.unlock()
	if !p.removed {
		p.step(setInput{kind: setAcceptFailed, ctype: s.ctype})
	}
}
