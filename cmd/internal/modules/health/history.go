package health

import (
	"fmt"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// HealthPastFilter says which evictions by a server to list; the zero value: all.
type HealthPastFilter struct {
	Client string        `query:"client"` // an id or a name
	NID    nid.NID       `query:"nid"`    // of the client
	Since  time.Duration `query:"since"`  // only those of so long ago at most
	Limit  int           `query:"limit"`  // the latest so many; 0: DefaultHealthLimit
}

// Check refuses an age and a limit that are none.
func (f *HealthPastFilter) Check() error {
	if f.Since < 0 {
		return fmt.Errorf("since %v: want a time such as 10m", f.Since)
	}
	return checkHealthLimit(f.Limit)
}

// HealthPast is a list of evictions by a server, the oldest first.
type HealthPast struct {
	Matching  int           `json:"matching"` // how many there are, as far as the server remembers
	More      bool          `json:"more"`     // than are listed
	Evictions []health.Past `json:"evictions"`
}

// History lists evictions by this server. Errors: as of HealthClients.
func (m *Module) History(f HealthPastFilter) (HealthPast, error) {
	agent, err := m.server()
	if err != nil {
		return HealthPast{}, err
	}
	if f.Limit < 0 || f.Limit > MaxHealthLimit || f.Since < 0 {
		return HealthPast{}, cli.Errnof(syscall.EINVAL, "limit %d, since %v: want 0 to %d, and no negative time", f.Limit, f.Since, MaxHealthLimit)
	}
	if f.Limit == 0 {
		f.Limit = DefaultHealthLimit
	}
	after := time.Now().Add(-f.Since)
	var list HealthPast
	list.Evictions, list.Matching = agent.History(f.Limit, func(p *health.Past) bool {
		return (f.Client == "" || p.Name == f.Client || p.Client.String() == f.Client) &&
			(!f.NID.IsValid() || p.Peer.NID == f.NID) && (f.Since == 0 || p.At.After(after))
	})
	list.More = list.Matching > len(list.Evictions)
	return list, nil
}
