package health

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ulnet/lnet/nid"
)

// lonelyEvery is how often a client without a master says why it has none.
const lonelyEvery = time.Minute

// Answer is what a candidate said last when it was asked to be the master. Code is OK if
// it has not answered since.
type Answer struct {
	Server nid.NID `json:"server"`
	Code   Code    `json:"code"`
	// With OtherTimes: T_evict of the server, how much this client needs at least, and
	// its T_ping.
	Evict time.Duration `json:"evict_ns,omitempty"`
	Needs time.Duration `json:"needs_ns,omitempty"`
	Ping  time.Duration `json:"ping_ns,omitempty"`
}

// String returns "10.0.0.1@tcp: no-quorum", or that it does not answer.
func (a Answer) String() string {
	switch a.Code {
	case OK:
		return a.Server.String() + ": no answer"
	case OtherTimes:
		return fmt.Sprintf("%v: %v (it evicts clients after %v; this one pings every %v and needs %v)", a.Server, a.Code, a.Evict, a.Ping, a.Needs)
	}
	return a.Server.String() + ": " + a.Code.String()
}

// hints are the remedies for refusals that do not go away by themselves.
var hints = []struct {
	code Code
	text string
}{
	{Ahead, "ahead: the number of this node's life is far above the clocks of the servers. Set the clock that is wrong; " +
		"if all are right this one's was ahead once: stop lnetd, remove the file 'incarnation' of its state directory, and start it again"},
	{OtherTimes, "other-times: give this client the times of the servers (section health, times, in lnetd's configuration), and start it again; " +
		"or raise evict on all servers to what this client needs"},
	{OtherKey, "other-key: give this client the servers' key (key_file in the section health of lnetd's configuration); see 'lnetctl keys show' on both"},
}

// answers returns what the servers that were asked last said.
func (c *Client) answers() (list []Answer) {
	for i := range c.peers {
		switch p := &c.peers[i]; {
		case p.silent > 0:
			list = append(list, Answer{Server: p.id})
		case p.said == OtherTimes:
			list = append(list, Answer{p.id, p.said, p.evict, c.needs(), c.cfg.Ping})
		case p.said != OK:
			list = append(list, Answer{Server: p.id, Code: p.said})
		}
	}
	return list
}

// lonely tells the user once in a while why no server is the master, after a round in
// which all were asked.
func (c *Client) lonely() {
	if c.now < c.lonelyAt {
		return
	}
	c.lonelyAt = c.now + lonelyEvery
	c.out.Answers = c.answers()
	c.out.Effects = append(c.out.Effects, ClientEffect{Kind: Lonely})
}

// answersText lists answers in one line.
func answersText(answers []Answer) string {
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// logLonely says who refused and for what reason, and what to do about it.
func logLonely(log *slog.Logger, answers []Answer) {
	attrs := []any{slog.String("answers", answersText(answers))}
	var remedies []string
	for _, h := range hints {
		if slices.ContainsFunc(answers, func(a Answer) bool { return a.Code == h.code }) {
			remedies = append(remedies, h.text)
		}
	}
	if len(remedies) > 0 {
		attrs = append(attrs, slog.String("hint", strings.Join(remedies, "; ")))
	}
	log.Warn("health: no server is the master of this client", attrs...)
}

// logRefused says why a server besides the master refuses, if that needs a remedy.
func logRefused(log *slog.Logger, e *ClientEvent) {
	for _, h := range hints {
		if h.code == e.Code {
			log.Warn("health: a server does not connect this client", slog.Any("server", e.Server), slog.Any("code", e.Code),
				slog.Duration("evict", e.Evict), slog.String("hint", h.text))
		}
	}
}
