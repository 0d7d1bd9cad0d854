package bugreport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"ulnet/cmd/internal/control"
)

// always are the questions that a report asks first, and also of a daemon that does not say what a report asks. The
// first one finds out whether the daemon answers; it has the data of "lnetctl net show" and "lnetctl stats show".
var always = []string{"/v1/status", "/v1/config", "/v1/log"}

// Bounds of the questions that a daemon names. It is not trusted: another user may run it.
const (
	maxQuestions = 256
	maxQuestion  = 200 // bytes of the path with its query, of which a name of a file is made
)

// others is what a report lacks if the daemon does not say what a report asks.
const others = "the daemon's other answers"

// questionPath matches a question. Its group becomes the name of a file.
var questionPath = onUse(`^/v1/([a-z0-9-]+(?:/[a-z0-9-]+)*)(?:\?|$)`)

// questions returns the questions that a report asks, as paths with queries, each with another file.
func (r *Report) questions(ctx context.Context, a *asker) []string {
	named, err := a.named(ctx)
	if err != nil {
		r.lacks(others, "it did not say what a report asks: "+err.Error())
	}
	if len(named) > maxQuestions {
		r.lacks(others, fmt.Sprintf("it names more than %d", maxQuestions))
		named = named[:maxQuestions]
	}
	asked, files := slices.Clone(always), map[string]bool{}
	for _, path := range always {
		files[fileOf(path)] = true
	}
	for _, path := range named {
		switch {
		case len(path) > maxQuestion || !questionPath().MatchString(path):
			r.lacks(others, fmt.Sprintf("%.100q is no path of a question", path))
		case !files[fileOf(path)]:
			files[fileOf(path)] = true
			asked = append(asked, path)
		}
	}
	return asked
}

// named returns what the daemon says that a report asks. It asks once more if the first answer is late, because most
// of a report depends on this answer.
func (a *asker) named(ctx context.Context) (list []string, err error) {
	ask := func(ctx context.Context) (io.ReadCloser, error) { return a.client.Answer(ctx, control.OpReport.Path) }
	late := a.late
	text, err := a.get(ctx, ask)
	if a.late > late {
		text, err = a.get(ctx, ask)
	}
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text, &list)
}

// fileOf returns the name of the file with the answer to a question.
func fileOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return strings.ReplaceAll(strings.TrimPrefix(path, "/v1/"), "/", "-") + ".json"
}
