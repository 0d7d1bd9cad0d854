package health

import (
	"log/slog"
	"slices"
	"strings"

	"ulnet/health/engine"
)

// hints are pieces of advice, for refusals that do not go away by themselves.
var hints = []struct {
	code Code
	text string
}{
	{Ahead, "ahead: the number of this node's incarnation is far above the clocks of the servers. Set the clock that is wrong; " +
		"if all are right this one's was ahead once: stop lnetd, remove the file 'incarnation' of its state directory, and start it again"},
	{OtherTimes, "other-times: give this client the times of the servers (section health, times, in lnetd's configuration), and start it again; " +
		"or raise evict on all servers to what this client needs"},
	{OtherKey, "other-key: give this client the servers' key (key_file in the section health of lnetd's configuration); see 'lnetctl keys show' on both"},
}

// answersText formats the answers of servers that the client tried, in one line.
func answersText(answers []engine.Answer) string {
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// logLonely logs that the client has no master: which servers refused, for which reasons, and
// what to do about it.
func logLonely(log *slog.Logger, answers []engine.Answer) {
	attrs := []any{slog.String("answers", answersText(answers))}
	var remedies []string
	for _, h := range hints {
		if slices.ContainsFunc(answers, func(a engine.Answer) bool { return a.Code == h.code }) {
			remedies = append(remedies, h.text)
		}
	}
	if len(remedies) > 0 {
		attrs = append(attrs, slog.String("hint", strings.Join(remedies, "; ")))
	}
	log.Warn("health: no server is the master of this client", attrs...)
}

// logRefused logs why a server other than the master refuses the client, if the reason needs a
// remedy.
func logRefused(log *slog.Logger, e *ClientEvent) {
	for _, h := range hints {
		if h.code == e.Code {
			log.Warn("health: a server does not connect this client", slog.Any("server", e.Server), slog.Any("code", e.Code),
				slog.Duration("evict", e.Evict), slog.String("hint", h.text))
		}
	}
}

// logSuperseded logs where the later incarnation of this client runs, and the remedy.
func logSuperseded(log *slog.Logger, e *ClientEvent) {
	by := "unknown"
	if e.Peer.IsValid() {
		by = e.Peer.String()
	}
	log.Warn("health: the same client runs elsewhere in a later incarnation, and this one rests for some minutes", slog.String("elsewhere", by),
		slog.Any("server", e.Server), slog.Uint64("life", e.Incarnation),
		slog.String("hint", "give each node an NID, and each program a client id, of its own; if it was moved on purpose there is nothing to do"))
}
