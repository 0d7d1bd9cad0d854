package o2iblnd

import (
	"time"

	"ulnet/lnd/o2iblnd/kib"
)

// The reasons of CM rejects that mean something here (rocev2 §12).
const (
	cmInvalidService  = 8
	cmStaleConnection = 10
	cmInvalidMTU      = 26
	cmConsumerDefined = 28
)

// connected checks a CONNACK (o2iblnd-wire §6, §7).
func (s *peerSet) connected(now time.Duration, in peerIn, out *peerOut) {
	s.connecting--
	m, err := kib.ParseMsg(in.private)
	why := ReasonNone
	switch {
	case err != nil:
		why = AckBad
	case m.VerifyChecksum(in.private) != nil:
		why, err = AckBad, kib.ErrChecksum
	case m.Type != kib.ConnAck:
		why, err = AckBad, kib.ErrType
	case m.SrcNID != s.cfg.peer || m.DstNID != s.cfg.self || m.DstStamp != s.cfg.stamp || m.Version != in.ask.version:
		why = AckPeer
	case badParams(m.Params, in.ask):
		why = AckParams
	}
	if why != ReasonNone {
		out.refused = newError(why, lustre(s.cfg.peer), err)
		s.failed(now, out.refused, out)
		return
	}
	out.ack, out.counting = m.Params, m.CountingOf(in.private)
	if out.counting == kib.Unknown && m.TakesEither(in.private) {
		out.counting = kib.Unsigned
	}
	s.established(m.SrcStamp, m.Version, out)
}

func badParams(p kib.ConnParams, a ask) bool {
	return p.QueueDepth == 0 || int(p.QueueDepth) > a.depth || p.MaxFrags == 0 || int(p.MaxFrags) > a.maxFrags || p.MaxMsgSize > kib.MaxMsgSize
}

// rejected handles a reject: it repeats the request if another one may succeed (o2iblnd-wire
// §7.2).
func (s *peerSet) rejected(now time.Duration, in peerIn, out *peerOut) {
	s.connecting--
	why, again := s.interpret(in, out)
	out.reason = why
	switch {
	case !again || !s.queued && !(s.redial && why == RejectedMTU) || s.acceptPending(now):
		s.failed(now, newError(why, lustre(s.cfg.peer), nil), out)
	case why == RejectedRace:
		s.redial = false
		s.askLater(now)
	default:
		s.redial = s.redial && !s.queued
		s.reconnect(now, out)
	}
}

// interpret returns what a reject means, and whether another request may succeed. It adopts
// the parameters that the peer offers.
func (s *peerSet) interpret(in peerIn, out *peerOut) (why Reason, again bool) {
	switch in.reason {
	case cmInvalidService:
		return NoListener, false
	case cmStaleConnection:
		return RejectedStale, true
	case cmInvalidMTU:
		return RejectedMTU, s.lowerMTU(in.ask.mtu, in.mtu)
	case cmConsumerDefined:
	default:
		return Rejected, false
	}
	r, err := kib.ParseReject(in.private)
	if err != nil {
		return Rejected, false
	}
	switch r.Why {
	case kib.ConnRace:
		return RejectedRace, true
	case kib.ConnStale:
		s.learn(&r, out)
		return RejectedStale, true
	case kib.RDMAFrags:
		s.learn(&r, out)
		return RejectedFrags, r.Complete && lower(&s.maxFrags, in.ask.maxFrags, r.Params.MaxFrags)
	case kib.MsgQueueSize:
		s.learn(&r, out) // Linux kernels too learn the peer's incarnation from this rejection
		return RejectedDepth, r.Complete && lower(&s.depth, in.ask.depth, r.Params.QueueDepth)
	case kib.NoResources:
		return RejectedLimit, false
	case kib.Early:
		return RejectedEarly, false
	case kib.ConnUncompat:
		return RejectedVersion, false
	case kib.Fatal:
		if r.Version == kib.V1 && in.ask.version == kib.V2 {
			return RejectedVersion, false // the peer speaks only version 1, which this side does not
		}
	}
	return Rejected, false
}

// learn adopts the incarnation (stamp) of the peer that a reject names, and lets connections to another incarnation
// end. It must do so now: once the new stamp is adopted, established finds no difference any more.
func (s *peerSet) learn(r *kib.Reject, out *peerOut) {
	if r.Complete {
		out.closeStale = s.have > 0 && s.stamp != r.Stamp
		s.stamp = r.Stamp
	}
}

// lowerMTU halves the path MTU after the peer's CM has refused it. A REJ may name an MTU that the peer would accept, but
// need not (IBTA vol. 1 §12.6.7.2). lowerMTU returns false if the refused MTU is the smallest one, or if the device can
// use only one. If the device has got a smaller MTU since the request, the next request names that one, and nothing is
// known yet of what the peer refuses.
func (s *peerSet) lowerMTU(asked, device int) bool {
	switch {
	case device < asked:
		return true
	case asked <= minMTU || s.cfg.fixedMTU:
		return false
	}
	next := asked / 2
	if s.mtu == 0 || next < s.mtu {
		s.mtu = next
	}
	return true
}

// minMTU is the smallest path MTU of RoCE in bytes.
const minMTU = 256

// lower adopts an offer that is below what was asked for.
func lower(value *int, asked int, offered uint16) bool {
	if offered == 0 || int(offered) >= asked {
		return false
	}
	*value = min(*value, int(offered))
	return true
}

// reconnect repeats a request, at once or after reconnectPause. It repeats ten requests in a row at once, or twice
// conns_per_peer if that is more: a restarted peer may reject each request twice, because of its new incarnation stamp
// and then because of other parameters.
func (s *peerSet) reconnect(now time.Duration, out *peerOut) {
	if s.reconnects++; s.reconnects <= max(fastReconnects, 2*s.cfg.connsPerPeer) {
		s.connecting++
		out.connect++
		return
	}
	s.retries++
	if s.retryAt == 0 {
		s.retryAt = now + reconnectPause
	}
}
