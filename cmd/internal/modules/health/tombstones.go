package health

import (
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
)

// HealthTombstoneFilter says which tombstones of a server to list; the zero value: all.
type HealthTombstoneFilter = HealthPastFilter

// HealthTombstones is a list of the tombstones of a server, the oldest first.
type HealthTombstones struct {
	Matching   int                    `json:"matching"` // how many there are
	More       bool                   `json:"more"`     // than are listed
	Tombstones []health.TombstoneInfo `json:"tombstones"`
}

// Tombstones lists the lives of clients that this server refuses. Errors: as of
// HealthClients.
func (m *Module) Tombstones(f HealthTombstoneFilter) (HealthTombstones, error) {
	agent, err := m.server()
	if err != nil {
		return HealthTombstones{}, err
	}
	if f.Limit < 0 || f.Limit > MaxHealthLimit || f.Since < 0 {
		return HealthTombstones{}, cli.Errnof(syscall.EINVAL, "limit %d, since %v: want 0 to %d, and no negative time", f.Limit, f.Since, MaxHealthLimit)
	}
	if f.Limit == 0 {
		f.Limit = DefaultHealthLimit
	}
	id, err := health.ParseClientID(f.Client)
	byID := err == nil
	var list HealthTombstones
	list.Tombstones, list.Matching = agent.Tombstones(f.Limit, func(t *health.TombstoneInfo) bool {
		return (f.Client == "" || byID && t.Client == id || t.Name == f.Client) &&
			(!f.NID.IsValid() || t.Peer.NID == f.NID) && (f.Since == 0 || t.Age <= f.Since)
	})
	list.More = list.Matching > len(list.Tombstones)
	return list, nil
}
