package gossip

import (
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Alive reports whether a participant is alive, and how many of its deaths this node has
// noticed. If that number has changed, the participant was restarted in between. NIDs that are
// not in the list are dead.
func (a *Agent) Alive(id nid.NID) (alive bool, aliveness uint64) {
	a.runner.Inspect(func() {
		if i := a.m.List().Index(id); i >= 0 {
			p := a.m.Participant(i)
			alive, aliveness = p.Health == Alive, p.Aliveness
		}
	})
	return alive, aliveness
}

// Counts returns the number of live participants, this node included, and the number of all.
func (a *Agent) Counts() (alive, known int) {
	a.runner.Inspect(func() { alive, known = a.m.AliveCount(), a.m.Len() })
	return alive, known
}

// Quorum reports whether enough participants are alive for a quorum, see Config.Quorum.
func (a *Agent) Quorum() (quorum bool) {
	a.runner.Inspect(func() { quorum = a.m.Quorum() })
	return quorum
}

// Ended reports whether the death of a participant that this node has reported is certain: since then this node has
// had news of more than half of all participants, and of enough for a quorum, and none of them hears the participant.
// At most one side of a partition has so many participants. If fewer than half of the participants die, their deaths
// become certain about log2 N cycles after this node reports them.
//
// The parameter ago says how long ago the caller last knew that the participant's node runs. News of the participant
// from before that time does not show that the node has died since: the node may have restarted, and a restarted node
// is silent at first. In this case Ended returns false until the silence and the time in which a death is noticed
// have passed since then.
func (a *Agent) Ended(id nid.NID, ago time.Duration) (ended bool) {
	a.runner.Inspect(func() {
		if i := a.m.List().Index(id); i >= 0 {
			ended = a.m.Ended(i, int(min(ago/a.cfg.Interval, 1<<20)))
		}
	})
	return ended
}

// Unsure reports that the agent cannot judge which participants are alive. This node was paused and has not heard
// enough since: until it has, the agent reports no change of the participants' health or of the quorum. Or this node is
// silent after its start and has not heard most participants yet, which may be silent, too.
func (a *Agent) Unsure() (unsure bool) {
	a.runner.Inspect(func() { unsure = a.m.Unsure() || a.m.Unready() })
	return unsure
}

// Silent reports whether the silence after the start lasts: this node sends nothing until the others have noticed that
// its last incarnation has ended.
func (a *Agent) Silent() (silent bool) {
	a.runner.Inspect(func() { silent = a.m.Silent() })
	return silent
}

// GivenUp reports whether this node has stopped because its parameters are not those of the others. What it says of these
// means nothing then.
func (a *Agent) GivenUp() (up bool) {
	a.runner.Inspect(func() { up = a.m.Stopped() && !a.m.Left() })
	return up
}

// Watch calls f for every participant that is alive now, and then whenever one dies or comes
// alive. If a participant changes several times before f returns, f is called once for all
// these changes, with the latest number of deaths. f may block, and may call the agent. No call of f
// begins after a call of stop, but an earlier one may still run then. When Close has returned without an
// error, no call of f runs.
func (a *Agent) Watch(f func(id nid.NID, alive bool, aliveness uint64)) (stop func()) {
	call := func(c change) { f(c.nid, c.alive, c.aliveness) }
	return a.watchers.Add(call, &changes{latest: make(map[nid.NID]state)}, func(tell func(change)) {
		a.runner.Inspect(func() {
			for i := range a.m.Len() {
				if p := a.m.Participant(i); p.Health == Alive {
					tell(change{p.NID, state{true, p.Aliveness}})
				}
			}
		})
	})
}

// Status is the state of an agent at one value of its clock.
type Status struct {
	Self         nid.NID       `json:"self"`         // the NID of this node that takes part
	Clock        uint64        `json:"clock"`        // the Lamport clock of this node
	Cycle        uint64        `json:"cycle"`        // number of this node's cycles since the start
	N            int           `json:"n"`            // number of participants
	Threshold    int           `json:"threshold"`    // age in cycles above which a participant is dead
	Interval     time.Duration `json:"-"`            // time between gossip cycles
	Limits       engine.Limits `json:"limits"`       // limits that follow from the configuration and N
	Digest       string        `json:"digest"`       // SHA-1 digest of the list of participants, in hexadecimal
	Quorum       bool          `json:"quorum"`       // enough participants are alive
	Alive        int           `json:"alive"`        // number of live participants, this node included
	Silent       bool          `json:"silent"`       // this node is still silent after its start
	Stopped      bool          `json:"stopped"`      // this node has stopped: its parameters are wrong, or it left the list
	Left         bool          `json:"left"`         // this node has stopped because it left the list: a list without it was committed here
	Participants []Participant `json:"participants"` // in the order of the list
	Stats        engine.Stats  `json:"stats"`        // counters of the machine since the start
	Keys         int           `json:"keys"`         // number of keys; 0: messages are not signed
	Verified     [2]uint64     `json:"verified"`     // messages that each key has verified
	NotSent      uint64        `json:"not_sent"`     // messages that LNet did not take or send
	StrayBits    uint64        `json:"stray_bits"`   // messages with match bits that are neither those of a ping nor of a reply
	OtherPID     uint64        `json:"other_pid"`    // messages dropped because their PID is not lnetd's
	NotPosted    uint64        `json:"not_posted"`   // buffers that could not be posted at once
}

// Status returns the state.
func (a *Agent) Status() Status {
	s := Status{
		Self: a.self, Interval: a.cfg.Interval, NotSent: a.outbox.NotSent(),
		StrayBits: a.strayBits.Load(), OtherPID: a.otherPID.Load(), NotPosted: a.inbox.NotPosted(),
	}
	a.runner.Inspect(func() {
		m := a.m
		s.Clock, s.Cycle, s.N, s.Limits = m.Clock(), m.Cycle(), m.Len(), m.Limits()
		s.Threshold, s.Digest = s.Limits.Dead, m.List().Digest().String()
		s.Quorum, s.Alive, s.Silent, s.Stopped, s.Left, s.Stats = m.Quorum(), m.AliveCount(), m.Silent(), m.Stopped(), m.Left(), m.Stats()
		s.Keys, s.Verified = m.Keys(), m.Verified()
		s.Participants = make([]Participant, s.N)
		for i := range s.Participants {
			s.Participants[i] = m.Participant(i)
		}
	})
	return s
}

// Explain returns what this node knows of a participant, and from which peer. It returns false
// if the participant is not in the list. See Config.Trace.
func (a *Agent) Explain(id nid.NID) (e Explanation, ok bool) {
	a.runner.Inspect(func() { e, ok = a.m.Explain(id) })
	return e, ok
}

// SetKeys replaces the keys from now on; docs/keys.md has the steps for changing the keys of a
// cluster.
func (a *Agent) SetKeys(keys keyring.Keys) { a.runner.Inspect(func() { a.m.SetKeys(keys) }) }
