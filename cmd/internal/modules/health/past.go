package health

import (
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// PastFilter says which evictions by a server to list; the zero value: all.
type PastFilter struct {
	Client string        `query:"client"` // an id or a name
	NID    nid.NID       `query:"nid"`    // of the client
	Since  time.Duration `query:"since"`  // only those of so long ago at most
	Limit  int           `query:"limit"`  // the latest so many; 0: DefaultLimit
}

// Check refuses an age and a limit that are none.
func (f *PastFilter) Check() error {
	if f.Since < 0 {
		return fmt.Errorf("since %v: want a time such as 10m", f.Since)
	}
	return checkLimit(f.Limit)
}

// PastList is a list of evictions by a server, the oldest first.
type PastList struct {
	Matching  int           `json:"matching"` // how many there are, as far as the server remembers
	More      bool          `json:"more"`     // than are listed
	Evictions []health.Past `json:"evictions"`
}

// History lists evictions by this server. Errors: as of ClientList.
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

// TombstoneFilter says which tombstones of a server to list; the zero value: all.
type TombstoneFilter = PastFilter

// TombstoneList is a list of the tombstones of a server, the oldest first.
type TombstoneList struct {
	Matching   int                    `json:"matching"` // how many there are
	More       bool                   `json:"more"`     // than are listed
	Tombstones []health.TombstoneInfo `json:"tombstones"`
}

// Tombstones lists the lives of clients that this server refuses. Errors: as of
// ClientList.
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
