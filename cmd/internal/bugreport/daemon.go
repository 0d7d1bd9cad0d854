package bugreport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// profiles are the profiles of the daemon that a report has, as text: what each goroutine does,
// and what has taken memory.
var profiles = []string{"goroutine", "heap", "mutex", "block", "threadcreate"}

// maxNets bounds the networks whose connections a report has.
const maxNets = 16

// errMute is the reason for what a daemon was not asked because it did not answer before.
var errMute = errors.New("the daemon did not answer earlier questions in time")

// asker asks a daemon until it has not answered twice.
type asker struct {
	client *control.Client
	answer time.Duration // longest wait for one answer
	late   int           // answers that did not come in time
}

// get returns the answer to a question, without the rest if it is too long.
func (a *asker) get(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.New("the time limit is over")
	}
	if a.late >= 2 {
		return nil, errMute
	}
	limited, cancel := context.WithTimeout(ctx, a.answer)
	defer cancel()
	in, err := open(limited)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(in, 4*maxFile))
		_ = in.Close() // the text is there
	}
	if err != nil && limited.Err() != nil {
		a.late++
		return nil, errors.New("no answer in time")
	}
	return text, err
}

// daemon adds what the daemon says, and what is known of its process.
func (r *Report) daemon(ctx context.Context, o *Options) {
	a := &asker{client: control.NewClient(o.Socket), answer: o.Answer}
	r.process(o.Socket)
	r.learnKeys(ctx, a, o.Config)
	for _, q := range questions {
		text, err := a.get(ctx, func(ctx context.Context) (io.ReadCloser, error) { return a.client.Answer(ctx, q.path) })
		r.answered("daemon/"+q.file, text, err)
		if err == nil && q.file == "status.json" {
			r.connections(ctx, a, text)
		}
	}
	for _, name := range profiles {
		text, err := a.get(ctx, func(ctx context.Context) (io.ReadCloser, error) {
			return a.client.Profile(ctx, control.ProfileRequest{Name: name, Time: control.UsualProfile, Text: true})
		})
		if err != nil {
			r.lacks("daemon/profile-"+name+".txt", err.Error())
			continue
		}
		r.add("daemon/profile-"+name+".txt", text)
	}
}

// answered adds an answer of the daemon. That of metrics is a text.
func (r *Report) answered(name string, text []byte, err error) {
	var metrics struct{ Text *string }
	switch {
	case err != nil:
		r.lacks(name, err.Error())
	case strings.HasSuffix(name, "/metrics.json") && json.Unmarshal(text, &metrics) == nil && metrics.Text != nil:
		r.add("daemon/metrics.txt", []byte(*metrics.Text))
	default:
		r.addJSON(name, json.RawMessage(text))
	}
}

// connections adds the connections of each network.
func (r *Report) connections(ctx context.Context, a *asker, status []byte) {
	var s node.Status
	if err := json.Unmarshal(status, &s); err != nil {
		r.lacks("daemon/connections", err.Error())
		return
	}
	var nets []string
	for _, ni := range s.NIs {
		if net := ni.NID.Net().String(); !ni.NID.IsLo() && !slices.Contains(nets, net) && len(nets) < maxNets {
			nets = append(nets, net)
		}
	}
	for _, net := range nets {
		text, err := a.get(ctx, func(ctx context.Context) (io.ReadCloser, error) {
			return a.client.Answer(ctx, "/v1/connections?net="+net)
		})
		r.answered("daemon/connections-"+net+".json", text, err)
	}
}

// learnKeys learns the keys that the daemon has, so that they are found wherever they stand. If it
// does not answer, the configuration says where they are, and is added, as far as it counts.
func (r *Report) learnKeys(ctx context.Context, a *asker, path string) {
	var files []string
	text, err := a.get(ctx, func(ctx context.Context) (io.ReadCloser, error) { return a.client.Answer(ctx, "/v1/config") })
	var values []config.Value
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		values = r.offline(path)
	}
	for _, v := range values {
		if v.Value == "" || !strings.HasSuffix(v.Key, "key_file") && !strings.HasSuffix(v.Key, "claim_keys") {
			continue
		}
		files = append(files, besides(v.From, v.Value))
	}
	for _, f := range files {
		if text, err := readBounded(f, maxFile); err == nil { // what cannot be read here cannot get into the report from here
			r.clean.file(text)
		}
	}
}

// besides returns the path of a file that a line of another one names.
func besides(line, path string) string {
	if file, _, ok := strings.Cut(line, ":"); ok && !filepath.IsAbs(path) {
		return filepath.Join(filepath.Dir(file), path)
	}
	return path
}

// offline reads the configuration of a daemon that does not answer. Errors are not in the report,
// because they quote values.
func (r *Report) offline(path string) []config.Value {
	const name = "config-file.json"
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	if _, err := os.Stat(path); err != nil {
		r.lacks(name, err.Error()+": name the configuration of lnetd with --config")
		return nil
	}
	if err := set.Set("config", path); err != nil {
		r.lacks(name, "the path is not valid")
		return nil
	}
	l, err := flags.Load(false)
	if err != nil {
		r.lacks(name, "it is not valid or not readable: 'lnetctl config check "+path+"' says where")
		return nil
	}
	values := l.Values()
	r.addJSON(name, values)
	return values
}
