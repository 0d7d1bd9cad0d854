package lnet

import "sync/atomic"

// vetting is the state of asking a peer whether it is a router. The peer is asked when it
// brings messages of other nodes.
//
// Until the first answer its messages are accepted: if a node is behind two gateways, the first
// message by the second gateway may be an answer for which this node waits. That adds no risk,
// since any peer could say that it is a router. A peer that does not answer is trusted only
// once.
type vetting struct{ state atomic.Uint32 }

// States of a vetting.
const (
	vettingNone     = iota // the peer has not been asked
	vettingFirst           // the peer is being asked for the first time
	vettingAgain           // the peer is being asked again
	vettingAnswered        // the peer has answered, and its answer counts
	vettingFailed          // the peer did not answer when last asked
)

// begin reports whether the peer is to be asked now, and whether its messages are taken until it
// has answered.
func (v *vetting) begin() (ask, trusted bool) {
	if v.state.CompareAndSwap(vettingNone, vettingFirst) {
		return true, true
	}
	if v.state.CompareAndSwap(vettingFailed, vettingAgain) {
		return true, false
	}
	return false, v.state.Load() == vettingFirst
}

// ended notes that a discovery of the peer has ended, and whether the peer has answered. A peer
// that was forgotten during the discovery counts as one without an answer. If begin was not called
// before, the discovery had another reason, and ended changes nothing.
func (v *vetting) ended(answered bool) {
	next := uint32(vettingFailed)
	if answered {
		next = vettingAnswered
	}
	for {
		now := v.state.Load()
		if now == vettingNone || v.state.CompareAndSwap(now, next) {
			return
		}
	}
}

// forgotten notes that nothing is known of the peer any more.
func (v *vetting) forgotten() { v.state.CompareAndSwap(vettingAnswered, vettingFailed) }
