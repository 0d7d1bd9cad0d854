package health

import (
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// PastFilter selects evictions that a server has made. The zero value selects all.
type PastFilter struct {
	Client string        `query:"client"` // id or name of the client; "": any
	NID    nid.NID       `query:"nid"`    // NID of the client; zero: any
	Since  time.Duration `query:"since"`  // largest age of the evictions; 0: any
	Limit  int           `query:"limit"`  // number of evictions to list, the latest; 0: DefaultLimit
}

// Check refuses an invalid age or limit.
func (f *PastFilter) Check() error {
	if f.Since < 0 {
		return fmt.Errorf("since %v: want a time such as 10m", f.Since)
	}
	return checkLimit(f.Limit)
}

// PastList is a list of evictions that a server has made, the oldest first.
type PastList struct {
	Matching  int           `json:"matching"`  // number of matching evictions that the server remembers
	More      bool          `json:"more"`      // the server remembers more than are listed
	Evictions []health.Past `json:"evictions"` // the latest evictions
}

// History returns evictions that this server has made. Errors are those of Clients.
func (m *Module) History(f PastFilter) (list PastList, err error) {
	agent, err := m.listing(&f)
	if err != nil {
		return list, err
	}
	after := time.Now().Add(-f.Since)
	list.Evictions, list.Matching = agent.History(limitOf(f.Limit), func(p *health.Past) bool {
		return (f.Client == "" || p.Name == f.Client || p.Client.String() == f.Client) &&
			(!f.NID.IsValid() || p.Peer.NID == f.NID) && (f.Since == 0 || p.At.After(after))
	})
	list.More = list.Matching > len(list.Evictions)
	return list, nil
}

// TombstoneFilter selects tombstones of a server. The zero value selects all.
type TombstoneFilter = PastFilter

// TombstoneList is a list of the tombstones of a server, the oldest first.
type TombstoneList struct {
	Matching   int                    `json:"matching"`   // number of matching tombstones
	More       bool                   `json:"more"`       // the server has more than are listed
	Tombstones []health.TombstoneInfo `json:"tombstones"` // the latest tombstones
}

// Tombstones returns the evictions that this server remembers. Errors are those of Clients.
func (m *Module) Tombstones(f TombstoneFilter) (list TombstoneList, err error) {
	agent, err := m.listing(&f)
	if err != nil {
		return list, err
	}
	id, err := health.ParseClientID(f.Client)
	byID := err == nil
	list.Tombstones, list.Matching = agent.Tombstones(limitOf(f.Limit), func(t *health.TombstoneInfo) bool {
		return (f.Client == "" || byID && t.Client == id || t.Name == f.Client) &&
			(!f.NID.IsValid() || t.Peer.NID == f.NID) && (f.Since == 0 || t.Age <= f.Since)
	})
	list.More = list.Matching > len(list.Tombstones)
	return list, nil
}
