package health

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ulnet/health/engine"
)

// load passes the records and tombstones of the store to the machine.
func (a *ServerAgent) load() error {
	if a.cfg.Store == nil {
		return nil
	}
	records, tombstones, err := a.cfg.Store.Load()
	if err != nil {
		return fmt.Errorf("health: load connections: %w", err)
	}
	slices.SortFunc(tombstones, func(x, y Tombstone) int { return x.Until.Compare(y.Until) })
	now := a.cfg.Wall()
	for _, g := range tombstones {
		if left := g.Until.Sub(now); left > 0 {
			a.runner.Do(engine.ServerInput{Kind: engine.RestoreTombstone, Client: g.Client, Incarnation: g.Incarnation, Epoch: g.Epoch, For: left})
		}
	}
	for i := range records {
		if a.cfg.Recovered != nil {
			a.cfg.Recovered(&records[i])
		}
		a.runner.Do(engine.ServerInput{Kind: engine.Restore, Record: &records[i]})
	}
	return nil
}

func (a *ServerAgent) save(e *engine.ServerEffect) {
	id := e.ID
	if a.cfg.Store == nil {
		if id != 0 {
			a.runner.Do(engine.ServerInput{Kind: engine.Saved, ID: id})
		}
		return
	}
	r := *e.Record
	if a.cfg.Export != nil {
		r.Export = a.cfg.Export(r.Client, r.Incarnation)
	}
	a.cfg.Store.Save(r, func(err error) {
		if err == nil {
			a.failing.Store(false)
		} else {
			a.storeFails("save a connection", r.Client, err)
		}
		if id != 0 || err != nil {
			a.runner.Do(engine.ServerInput{Kind: engine.Saved, ID: id, Failed: err != nil})
		}
	})
}

func (a *ServerAgent) remove(e *engine.ServerEffect) {
	if a.cfg.Store == nil {
		return
	}
	t := Tombstone{Client: e.Client, Incarnation: e.Incarnation, Epoch: e.Epoch}
	switch {
	case e.For > 0:
		t.Until = a.cfg.Wall().Add(e.For)
	case e.For < 0:
		t.Until = time.Unix(0, 1) // a time in the past, at which Remove removes the stored tombstone
	}
	a.cfg.Store.Remove(t, func(err error) {
		if err != nil {
			a.storeFails("remove a connection", t.Client, err)
			a.runner.Do(engine.ServerInput{Kind: engine.Saved, Failed: true})
		}
	})
}

// storeFails logs the first failure in a series of failures; the series ends with the next
// successful save. All failures are counted in NotSaved: a full disk causes one for each attempt
// of each client.
func (a *ServerAgent) storeFails(what string, id ClientID, err error) {
	if !a.failing.Swap(true) {
		a.log.Error(what+"; more failures are only counted", slog.String("client", id.String()), slog.Any("err", err))
	}
}
