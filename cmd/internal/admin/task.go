package admin

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Statuses of actions, in addition to those of package scoll.
const (
	enoent scoll.Status = 2 // ENOENT: the action is not configured
	// Distrusted (EACCES) says that a member runs no actions, because any process could use the
	// NIDs of other nodes, see Config.Distrust.
	Distrusted scoll.Status = 13
)

// task is a request that this node runs.
type task struct {
	s       *Service
	ctx     context.Context
	request Request
	root    nid.NID
	parent  nid.NID
	bulk    [][]byte
	at      int64 // time at which the request arrived
	bad     error // why the request cannot be parsed; nil: it can
	mayAct  bool
	// distrust is the name of a setting that lets any process use the root's NID, so that this NID
	// proves nothing; "": there is no such setting.
	distrust string
}

// answer runs the request and sets the answer.
func (t *task) answer(o *own) {
	began := time.Now()
	a := t.run()
	a.Version, a.Took = Version, time.Since(began)
	t.s.stats.answered.Add(1)
	o.set(a.AppendTo(nil))
}

// run runs the request and returns the answer.
func (t *task) run() Answer {
	switch t.bad {
	case nil:
	case ErrVersion:
		t.s.stats.versions.Add(1)
		v := scoll.Versions{Own: Version}
		v.Check(uint32(t.request.Version))
		return Answer{Status: scoll.ENOTSUP, Data: v.AppendTo(nil)}
	default:
		t.s.stats.malformed.Add(1)
		return Answer{Status: scoll.EINVAL}
	}
	switch t.request.Verb {
	case VersionOf:
		return t.fit([]byte(t.s.cfg.Version))
	case ConfigOf:
		return t.fit(t.s.cfg.Digest[:])
	case Clock:
		return t.fit(Reading{Received: t.at, Sent: t.at}.AppendTo(nil))
	case Tracing:
		trace := Trace{Reading: Reading{Received: t.at, Sent: t.at}, Forwarded: t.s.now()}
		return t.fit(trace.AppendTo(nil))
	case Text:
		return t.fit(Sum(t.request.Text, t.bulk))
	case Run:
		return t.act()
	case Clients:
		return t.clients()
	}
	return Answer{}
}

// clients answers with a page of this node's clients.
func (t *task) clients() Answer {
	if c := &t.s.cfg; c.MayAsk == nil || !c.MayAsk(t.root, t.parent) {
		t.s.stats.denied.Add(1)
		return Answer{Status: scoll.EPERM}
	}
	page, status := t.s.cfg.Clients(t.request.Text, int(t.request.Answer)-answerSize)
	if status != scoll.OK {
		return Answer{Status: status}
	}
	return t.fit(page)
}

// Sum returns the answer to the verb Text: the digest of a text and its bulk data.
func Sum(text []byte, bulk [][]byte) []byte {
	h := sha256.New()
	h.Write(text)
	for _, b := range bulk {
		h.Write(b)
	}
	return h.Sum(nil)
}

// fit returns an answer with data, or EMSGSIZE if the root has no room for it.
func (t *task) fit(data []byte) Answer {
	if len(data) > int(t.request.Answer)-answerSize {
		return Answer{Status: scoll.EMSGSIZE}
	}
	return Answer{Data: data}
}

// act runs an action.
func (t *task) act() Answer {
	root := t.root.String()
	log := t.s.cfg.Log.With(slog.String("action", t.request.Name), slog.String("root", root))
	if !t.mayAct {
		return Answer{Status: scoll.EPERM}
	}
	if t.distrust != "" {
		t.s.stats.distrusted.Add(1)
		log.Debug("action refused: " + t.distrust + " lets users without privilege have the root's NID; set key_file, or actions_without_identity")
		return Answer{Status: Distrusted}
	}
	action, ok := t.s.cfg.Actions[t.request.Name]
	if !ok {
		t.s.stats.unknown.Add(1)
		return Answer{Status: enoent}
	}
	select {
	case t.s.actions <- struct{}{}:
	default:
		t.s.stats.busy.Add(1)
		return Answer{Status: scoll.EBUSY}
	}
	defer func() { <-t.s.actions }()
	j := job{
		action: action, limit: time.Duration(t.request.Limit) * time.Millisecond, text: t.request.Text, root: root,
		output: min(t.s.cfg.Output, max(int(t.request.Answer)-answerSize-runSize, 0)),
	}
	if len(t.bulk) > 0 {
		var err error
		if j.file, err = t.s.files.file(t.bulk); err != nil {
			log.Error("file for bulk data", slog.Any("err", err))
			return Answer{Status: scoll.EIO}
		}
		defer os.Remove(j.file)
	}
	ran, err := j.run(t.ctx)
	if err != nil {
		log.Error("action", slog.Any("err", err))
		return Answer{Status: enoent}
	}
	t.s.stats.actions.Add(1)
	log.Info("action", slog.Int("exit", int(ran.Exit)), slog.Bool("time_over", ran.TimeOver))
	return t.fit(ran.AppendTo(nil))
}
