package zone

import (
	"fmt"
	"time"

	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
)

// fileNames are the names of the state files.
var fileNames = []string{"parameters", "members", "gone", "links", "suspicions", "census", "statistics"}

var parametersFile = statefiles.FieldsOf[zone.Status]("parameters", `zone self state version members supervises=supervisor delegation.delegate=delegate
	delegation.activation=activation threshold=theta successors random`)

// Files returns the state files of the zone.
func (m *Module) Files() *statefiles.Config {
	if m.zone == nil {
		return nil
	}
	return &statefiles.Config{Dir: "zone", Names: fileNames, Source: m.files}
}

// files returns the state of the zone as files; none if the node is in no zone.
func (m *Module) files() []statefiles.File {
	a, err := m.agent()
	if err != nil {
		return nil
	}
	s := a.Status()
	files := []statefiles.File{parametersFile.File(&s), membersFile(a), goneFile(a), linksFile(a), suspicionsFile(a), statisticsFile(&s)}
	if s.Supervises {
		files = append(files, censusFile(a))
	}
	return files
}

func membersFile(a *zone.Agent) statefiles.File {
	return statefiles.Lines("members", func(line func(...any)) {
		for _, m := range a.Members() {
			line(m.ID, m.Version)
		}
	})
}

// goneFile makes the state file of the former members. The member that left or was removed first is on
// the first line.
func goneFile(a *zone.Agent) statefiles.File {
	return statefiles.Lines("gone", func(line func(...any)) {
		for _, g := range a.History() {
			if !g.ID.IsValid() {
				continue
			}
			values := []any{g.ID, g.Version, g.Cause, g.Code}
			for _, w := range g.By {
				values = append(values, w.ID)
			}
			line(values...)
		}
	})
}

func linksFile(a *zone.Agent) statefiles.File {
	return statefiles.Lines("links", func(line func(...any)) {
		for _, l := range a.Links() {
			line(l.ID, l.State, LinkRoles(&l))
		}
	})
}

// LinkRoles returns the reasons for which a link exists, as text.
func LinkRoles(l *zone.LinkStatus) string {
	text := ""
	for _, role := range []struct {
		is   bool
		name string
	}{{l.Successor, "successor"}, {l.Random, "random"}, {l.Theirs, "theirs"}} {
		if !role.is {
			continue
		}
		if text != "" {
			text += ","
		}
		text += role.name
	}
	if text == "" {
		return "-"
	}
	return text
}

func suspicionsFile(a *zone.Agent) statefiles.File {
	return statefiles.Lines("suspicions", func(line func(...any)) {
		for _, s := range a.Suspicions() {
			line(s.Suspect, s.Version, "by", s.Reporter)
		}
	})
}

func censusFile(a *zone.Agent) statefiles.File {
	return statefiles.Lines("census", func(line func(...any)) {
		for _, e := range a.Census() {
			line(e.Zone, e.Size, e.Delegate, e.Supervisor, CensusText(&e))
		}
	})
}

// CensusText says how far an entry of the census can be relied on.
func CensusText(e *zone.CensusEntry) string {
	if e.State == zone.Current {
		return e.State.String()
	}
	return fmt.Sprintf("%v for %v", e.State, e.Age.Round(time.Second))
}

// TroubleText says why a delegate cannot register with a supervisor.
func TroubleText(t engine.Trouble) string {
	switch t {
	case engine.NotHeard:
		return "no answer comes"
	case engine.Unreachable:
		return "messages to it fail: see 'lnetctl ping'"
	case engine.Full:
		return "it has no room for another zone"
	}
	return t.String()
}

func statisticsFile(s *zone.Status) statefiles.File {
	return statefiles.Lines("statistics", func(line func(...any)) {
		for k := wire.Heartbeat; k <= wire.Notice; k++ {
			line("sent_"+k.String(), s.Stats.Sent[k])
			line("received_"+k.String(), s.Stats.Received[k])
		}
		line("refused", s.Stats.Refusals())
		line("filed", s.Stats.Filed)
		line("refuted", s.Stats.Refuted)
		line("repairs", s.Stats.Repairs)
		line("pauses", s.Stats.Pauses)
		line("not_sent", s.NotSent)
		line("stray_bits", s.StrayBits)
		line("not_posted", s.NotPosted)
	})
}
