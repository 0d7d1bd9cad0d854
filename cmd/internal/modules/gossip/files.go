package gossip

import (
	"fmt"
	"strconv"
	"strings"

	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip"
)

// fileNames are the names of the state files.
var fileNames = []string{"parameters", "participants", "clock", "ages", "health", "quorum", "statistics"}

// Files shows the state of gossip.
func (m *Module) Files() *statefiles.Config {
	return &statefiles.Config{Dir: "gossip", Names: fileNames, Source: m.files}
}

// files returns the state of gossip as files, all of the same moment
// (seed 003, Debugging). There are none before an init, and those of an agent
// only while there is one.
func (m *Module) files() []statefiles.File {
	setup, agent := m.now()
	if setup == nil {
		return nil
	}
	status := statusOf(setup, agent)
	s := status.Snapshot
	params := setup.params(s)
	files := []statefiles.File{parametersFile(status.State, params), setup.participantsFile()}
	if s == nil || s.Digest != setup.list.Digest().String() { // the list changes just now
		return files
	}
	clock := fmt.Appendf(nil, "# clock %d\n", s.Clock)
	return append(files,
		statefiles.File{Name: "clock", Body: fmt.Appendf(nil, "clock %d\ncycle %d\n", s.Clock, s.Cycle)},
		setup.agesFile(clock, s), setup.healthFile(clock, s), quorumFile(clock, s, params.Quorum), statisticsFile(clock, s))
}

func parametersFile(state GossipState, p GossipNumbers) statefiles.File {
	return statefiles.Lines("parameters", func(line func(...any)) {
		line("state", state)
		line("version", p.Version)
		if p.Self.IsValid() {
			line("self", p.Self)
		}
		line("interval_ms", p.IntervalMS)
		line("rtt_ms", p.RTTMS)
		line("participants", p.N)
		line("digest", p.Digest)
		line("dead_after_cycles", p.Limits.Dead)
		line("fudge", p.Limits.Fudge)
		line("obsolete", p.Limits.Obsolete)
		line("stealth_cycles", p.Limits.Stealth)
		line("quorum_percent", p.Quorum)
		line("cold_start", statefiles.YesNo(p.ColdStart))
		line("strict", statefiles.YesNo(p.Strict))
		line("seed", p.Seed)
	})
}

func (s *settings) participantsFile() statefiles.File {
	return statefiles.File{Name: "participants", Body: []byte(strings.Join(s.names, "\n") + "\n")}
}

func (s *settings) agesFile(clock []byte, now *gossip.Status) statefiles.File {
	var b []byte
	for i := range now.Participants {
		b = append(append(b, s.names[i]...), ' ')
		b = append(strconv.AppendUint(b, uint64(now.Participants[i].Age), 10), '\n')
	}
	return statefiles.File{Name: "ages", Head: clock, Body: b}
}

func (s *settings) healthFile(clock []byte, now *gossip.Status) statefiles.File {
	var b []byte
	for i := range now.Participants {
		p := &now.Participants[i]
		b = append(append(append(append(b, s.names[i]...), ' '), p.Health.String()...), ' ')
		b = append(strconv.AppendUint(b, p.Aliveness, 10), '\n')
	}
	return statefiles.File{Name: "health", Head: clock, Body: b}
}

func quorumFile(clock []byte, s *gossip.Status, percent int) statefiles.File {
	return statefiles.File{Name: "quorum", Head: clock, Body: fmt.Appendf(nil,
		"quorum %s\nalive %d\nparticipants %d\npercent %d\n", statefiles.YesNo(s.Quorum), s.Alive, s.N, percent)}
}

func statisticsFile(clock []byte, s *gossip.Status) statefiles.File {
	f := statefiles.Lines("statistics", func(line func(...any)) {
		for _, c := range GossipCounters(s) {
			line(c.Name, c.Value)
		}
	})
	f.Head = clock
	return f
}

// Counter is a counter with its name.
type Counter struct {
	Name  string
	Value uint64
}

// GossipCounters returns the counters in the order in which they are shown.
func GossipCounters(s *gossip.Status) []Counter {
	c := &s.Stats
	return []Counter{
		{"pings_sent", c.PingsSent},
		{"second_pings", c.SecondPings},
		{"pings_received", c.PingsReceived},
		{"replies_sent", c.RepliesSent},
		{"replies_received", c.RepliesReceived},
		{"obsolete", c.Obsolete},
		{"bad_clock", c.BadClock},
		{"realigned", c.Realigned},
		{"not_signed", c.NotSigned},
		{"malformed", c.Malformed},
		{"for_nobody", c.ForNobody},
		{"not_young", c.NotYoung},
		{"other_version", c.OtherVersion},
		{"disagreements", c.Disagreements},
		{"strangers", c.Strangers},
		{"quiet", c.Quiet},
		{"behind", c.Behind},
		{"missed", c.Missed},
		{"bad_stages", c.BadStages},
		{"not_sent", s.NotSent},
		{"stray_bits", s.StrayBits},
		{"other_pid", s.OtherPID},
		{"not_posted", s.NotPosted},
	}
}
