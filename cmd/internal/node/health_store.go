package node

import (
	"log/slog"
	"path/filepath"

	"ulnet/cmd/internal/connstore"
	"ulnet/health"
)

// HealthStoreName is the name of the records of connections in the state
// directory.
const HealthStoreName = "health.db"

// openStore opens the records of connections. Trouble with them is no reason to
// leave the clients of all others alone: connections that cannot be recorded are
// refused until the next start, and the log and the status say why.
func (h *healthRoles) openStore() {
	if !h.cfg.Records || h.node.cfg.StateDir == "" {
		return
	}
	h.path = filepath.Join(h.node.cfg.StateDir, HealthStoreName)
	h.store, h.broken = connstore.Open(connstore.Config{Path: h.path, Log: h.log})
	if h.broken != nil {
		h.log.Error("connections cannot be recorded: no client is taken", slog.String("file", h.path), slog.Any("err", h.broken),
			slog.String("hint", "mend that, and start lnetd again: the file is opened once"))
		return
	}
	if s := h.store.Stats(); s.SetAside != "" {
		h.log.Error("the records of connections were damaged: clients connect again", slog.String("file", h.path),
			slog.String("set_aside", s.SetAside), slog.String("damage", s.Damage))
	}
}

// records returns the store of the server role, nil if there is to be none.
func (h *healthRoles) records() health.Store {
	switch {
	case h.path == "":
		return nil
	case h.store == nil:
		return refusing{h.broken}
	}
	return h.store
}

// storeStatus tells about the records, nil if there are to be none.
func (h *healthRoles) storeStatus() *HealthStore {
	if h.path == "" {
		return nil
	}
	s := &HealthStore{Path: h.path}
	if h.store != nil {
		s.Stats = h.store.Stats()
	}
	if h.broken != nil {
		s.Error = h.broken.Error()
	}
	return s
}

// refusing is a store that could not be opened: it keeps nothing, and says so.
type refusing struct{ err error }

func (refusing) Load() ([]health.Record, []health.Tombstone, error) { return nil, nil, nil }
func (r refusing) Save(_ health.Record, done func(error))           { done(r.err) }
func (r refusing) Remove(_ health.Tombstone, done func(error))      { done(r.err) }
