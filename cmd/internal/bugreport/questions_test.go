package bugreport

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/lnd/lndtest/spec"
)

// answering makes an asker of a daemon: list answers the question for the list of questions, and the answer to any
// other question is the question.
func answering(t *testing.T, list http.HandlerFunc) *asker {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/v1/report" {
			list(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(r.RequestURI)
	})}
	go func() { _ = s.Serve(l) }() // the error is that of Close
	t.Cleanup(func() { _ = s.Close() })
	return &asker{client: control.NewClient(socket), answer: time.Minute}
}

// naming makes an asker of a daemon that names these questions.
func naming(t *testing.T, named ...string) *asker {
	return answering(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(append([]string{}, named...))
	})
}

// TestQuestionsOfTheDaemon: a report has the answers to the questions that the daemon names, after those that every
// report has, each in a file of its own that is named after the question.
func TestQuestionsOfTheDaemon(t *testing.T) {
	spec.Covers(t, "OP-44")
	var r Report
	asked := r.questions(t.Context(), naming(t, "/v1/status", "/v1/zone/events?from=0", "/v1/zone-events", "/v1/status?x", "/v1/gossip"))
	if want := append(slices.Clone(always), "/v1/zone/events?from=0", "/v1/gossip"); !slices.Equal(asked, want) || len(r.Missing) > 0 {
		t.Errorf("asked %q, want %q; missing %+v", asked, want, r.Missing)
	}
	var files []string
	for _, path := range asked {
		files = append(files, fileOf(path))
	}
	if want := []string{"status.json", "config.json", "log.json", "zone-events.json", "gossip.json"}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
}

// TestQuestionsOfAHostileDaemon: a daemon that another user runs chooses neither odd or long names of files nor how many
// questions a report asks.
func TestQuestionsOfAHostileDaemon(t *testing.T) {
	spec.Covers(t, "OP-46")
	long := func(n int) string { return "/v1/" + strings.Repeat("a", n-len("/v1/")) }
	odd := []string{
		"", "/", "/v1/", "/v1/../../etc/passwd", "/v1/a/../b", "/v1//a", "v1/a", "/v1/A", "/v1/a.json", "/v1/a\n", "http://host/v1/a", "/v2/a", "/v1/a/",
		long(maxQuestion + 1), long(2 << 20), "/v1/a?" + strings.Repeat("x", maxQuestion),
	}
	var r Report
	asked := r.questions(t.Context(), naming(t, append(slices.Clone(odd), "/v1/a", long(maxQuestion))...))
	if want := append(slices.Clone(always), "/v1/a", long(maxQuestion)); !slices.Equal(asked, want) || r.lacksAny(others) != len(odd) {
		t.Errorf("asked %.300q, refused %d, want %d", asked, r.lacksAny(others), len(odd))
	}
	for _, m := range r.Missing {
		if len(m.Why) > 500 {
			t.Errorf("the index has %d bytes of an odd question", len(m.Why))
		}
	}
	for _, n := range []int{maxQuestions, maxQuestions + 1, 1 << 17} {
		var many []string
		for i := range n {
			many = append(many, fmt.Sprintf("/v1/q%d", i))
		}
		r = Report{}
		asked := r.questions(t.Context(), naming(t, many...))
		if cut := r.lacksAny(others) > 0; len(asked) != len(always)+maxQuestions || cut != (n > maxQuestions) {
			t.Errorf("of %d questions %d are asked; missing %+v", n, len(asked), r.Missing)
		}
	}
}

// TestQuestionsNotNamed: of a daemon that does not say what a report asks, the report has what every daemon answers, and
// says that the rest is missing. An older daemon does not know the question.
func TestQuestionsNotNamed(t *testing.T) {
	spec.Covers(t, "OP-46")
	for name, answer := range map[string]http.HandlerFunc{
		"older daemon": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"there is no GET /v1/report"}}`, http.StatusNotFound)
		},
		"no list": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"no": 1}`) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `["/v1/a"`) },
	} {
		var r Report
		asked := r.questions(t.Context(), answering(t, answer))
		if !slices.Equal(asked, always) || r.lacksAny(others) != 1 {
			t.Errorf("%s: asked %q, missing %+v", name, asked, r.Missing)
		}
	}
}

// TestQuestionsNamedLate: a report asks once more for the questions if the answer does not come in time.
func TestQuestionsNamedLate(t *testing.T) {
	spec.Covers(t, "OP-46")
	var first atomic.Bool
	a := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if first.Swap(false) {
			<-r.Context().Done() // the asker gives up
			return
		}
		_, _ = io.WriteString(w, `["/v1/gossip"]`)
	})
	for a.answer = 50 * time.Millisecond; a.answer < 10*time.Second; a.answer *= 2 { // on a busy machine the second answer may be late, too
		first.Store(true)
		a.late = 0
		if list, err := a.named(t.Context()); err == nil {
			if !slices.Equal(list, []string{"/v1/gossip"}) {
				t.Errorf("%q", list)
			}
			return
		}
	}
	t.Error("there was no answer")
}
