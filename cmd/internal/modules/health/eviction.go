package health

import (
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// EvictionQuery identifies an eviction that this server makes.
type EvictionQuery struct {
	Client      health.ClientID `json:"client" query:"client,always"`           // id of the client; required
	Incarnation uint64          `json:"incarnation" query:"incarnation,always"` // number of the client's incarnation, as in EvictReply
}

// EvictionState is the progress of an eviction as a word.
type EvictionState string

// The states of an eviction.
const (
	EvictionUnderWay EvictionState = "under-way" // live servers have not answered
	EvictionDone     EvictionState = "evicted"   // all live servers have answered
	EvictionKept     EvictionState = "kept"      // a server knows a later choice of a master, so the client stays
	EvictionCutOff   EvictionState = "cut-off"   // this server lost its quorum, and has ended only its own connection
	EvictionUnknown  EvictionState = "unknown"   // this server has restarted since, or has forgotten the eviction
)

// EvictionStatus is the progress of an eviction.
type EvictionStatus struct {
	State   EvictionState `json:"state"`             // progress of the eviction
	Missing []nid.NID     `json:"missing,omitempty"` // live servers that have not answered
	Owed    []nid.NID     `json:"owed,omitempty"`    // dead servers, which learn of the eviction if they come back soon
	Master  nid.NID       `json:"master,omitzero"`   // with a client that stays: its master
}

// Eviction returns the progress of an eviction that this server makes. The error is EINVAL if no
// client is named.
func (m *Module) Eviction(of EvictionQuery) (EvictionStatus, error) {
	agent, err := m.server()
	if err != nil {
		return EvictionStatus{}, err
	}
	if !of.Client.IsValid() {
		return EvictionStatus{}, cli.Errnof(syscall.EINVAL, "say which client, by its id")
	}
	var e EvictionStatus
	if st, ok := agent.Eviction(of.Client); ok && st.Incarnation == of.Incarnation {
		if e.Missing, e.Owed = st.Missing, st.Owed; !st.Settled {
			e.State = EvictionUnderWay
			return e, nil
		}
	}
	e.State, e.Master = evictionEnd(agent, of)
	return e, nil
}

// evictionEnd returns the result of an eviction that has ended, and the master of a client that
// stays.
func evictionEnd(agent *health.ServerAgent, of EvictionQuery) (EvictionState, nid.NID) {
	if c, ok := agent.Client(of.Client); ok && c.Incarnation == of.Incarnation {
		if c.State == "evicting" { // the eviction has only just begun, so agent.Eviction did not find it
			return EvictionUnderWay, nid.NID{}
		}
		return EvictionKept, c.Master
	}
	if incarnation, ok := agent.Buried(of.Client); ok && incarnation >= of.Incarnation {
		return EvictionDone, nid.NID{}
	}
	past, _ := agent.History(1, func(p *health.Past) bool { return p.Client == of.Client && p.Incarnation == of.Incarnation })
	switch {
	case len(past) == 0:
		return EvictionUnknown, nid.NID{}
	case past[0].Cause == health.LostQuorum:
		return EvictionCutOff, nid.NID{}
	}
	return EvictionDone, nid.NID{}
}
