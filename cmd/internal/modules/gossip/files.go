package gossip

import (
	"fmt"
	"strconv"
	"strings"

	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip"
	"ulnet/gossip/engine"
)

// fileNames are the names of the state files.
var fileNames = []string{"parameters", "participants", "clock", "ages", "health", "quorum", "statistics"}

// counters are the values that the file statistics shows.
type counters struct {
	engine.Stats
	*gossip.Status
}

// The state files that have a line for each field of a status.
var (
	parametersFile = statefiles.FieldsOf[Params]("parameters", `state version self? interval_ms rtt_ms n=participants digest threshold=dead_after_cycles fudge obsolete
		stealth=stealth_cycles quorum_percent cold_start strict seed`)
	clockFile      = statefiles.FieldsOf[gossip.Status]("clock", "clock cycle")
	quorumFile     = statefiles.FieldsOf[gossip.Status]("quorum", "quorum alive n=participants")
	statisticsFile = statefiles.FieldsOf[counters]("statistics", `pings_sent second_pings pings_received replies_sent replies_received obsolete bad_clock realigned not_signed
		malformed for_nobody not_young other_version disagreements strangers quiet behind missed bad_stages not_sent stray_bits other_pid not_posted`)
)

// Files returns the state files of gossip.
func (m *Module) Files() *statefiles.Config {
	return &statefiles.Config{Dir: "gossip", Names: fileNames, Source: m.files}
}

// files returns the state of gossip as files, all of the same moment (gossip design, Debugging).
// Before an init there are no files. Files about an agent exist only while there is an agent.
func (m *Module) files() []statefiles.File {
	setup, agent := m.now()
	if setup == nil {
		return nil
	}
	status := statusOf(setup, agent)
	s := status.Snapshot
	params := setup.params(status)
	files := []statefiles.File{parametersFile.File(&params), setup.participantsFile()}
	if s == nil || s.Digest != setup.list.Digest().String() { // while the list is changing, the agent's state does not fit the parameters
		return files
	}
	clock := fmt.Appendf(nil, "# clock %d\n", s.Clock)
	quorum := quorumFile.File(s)
	quorum.Body = fmt.Appendf(quorum.Body, "percent %d\n", params.Quorum)
	statistics := statisticsFile.File(&counters{s.Stats, s})
	quorum.Head, statistics.Head = clock, clock
	return append(files, clockFile.File(s), setup.agesFile(clock, s), setup.healthFile(clock, s), quorum, statistics)
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
