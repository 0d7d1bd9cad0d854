package health

import (
	"log/slog"
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
}

// String returns "10.0.0.1@tcp: no-quorum", or that it does not answer.
func (a Answer) String() string {
	if a.Code == OK {
		return a.Server.String() + ": no answer"
	}
	return a.Server.String() + ": " + a.Code.String()
}

// answers returns what the servers that were asked last said.
func (c *Client) answers() (list []Answer) {
	for i := range c.peers {
		switch p := &c.peers[i]; {
		case p.silent > 0:
			list = append(list, Answer{p.id, OK})
		case p.said != OK:
			list = append(list, Answer{p.id, p.said})
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

// logLonely says who refused and for what reason, and what to do about it.
func logLonely(log *slog.Logger, answers []Answer) {
	texts, ahead := make([]string, len(answers)), false
	for i, a := range answers {
		texts[i] = a.String()
		ahead = ahead || a.Code == Ahead
	}
	attrs := []any{slog.String("answers", strings.Join(texts, ", "))}
	if ahead {
		attrs = append(attrs, slog.String("hint", "ahead: the number of this node's life is far above the clocks of the servers. Set the clock that is wrong; "+
			"if all are right this one's was ahead once: stop lnetd, remove the file 'incarnation' of its state directory, and start it again"))
	}
	log.Warn("health: no server is the master of this client", attrs...)
}
