package lnet

import "sync/atomic"

// vetting is how far the question to a peer has come whether it routes, which it is asked when
// it brings messages of others.
//
// Until the first answer its messages are taken: the first message by the second gateway of a
// node behind two of them is an answer that somebody waits for. The peer gains nothing that it
// would not have by saying that it routes; one that never answers is trusted only once.
type vetting struct{ state atomic.Uint32 }

// The states of a vetting.
const (
	vettingNone     = iota // nobody has asked
	vettingFirst           // the peer is asked for the first time
	vettingAgain           // it is asked again
	vettingAnswered        // what it says of itself counts
	vettingFailed          // it did not answer the last time
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

// ended notes that a discovery of the peer has ended. One that this has not asked for changes
// nothing.
func (v *vetting) ended(err error) {
	next := uint32(vettingAnswered)
	if err != nil {
		next = vettingFailed
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
