package bugreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// profiles are the profiles of the daemon that a report contains as text, such as the stacks of all
// goroutines and the allocations of the heap.
var profiles = []string{"goroutine", "heap", "mutex", "block", "threadcreate"}

// maxAnswer bounds the bytes of an answer. A longer answer is an error, because cut JSON is not valid.
const maxAnswer = 16 * maxFile

// maxNets bounds the networks whose connections a report has.
const maxNets = 16

// maxKeyFiles bounds the key files whose keys are learned. The daemon says which key files there are.
const maxKeyFiles = 16

// errMute is the error for a question that is not sent, because the daemon did not answer earlier ones.
var errMute = errors.New("the daemon did not answer earlier questions in time")

// asker asks a daemon. After two questions without an answer it asks no further ones.
type asker struct {
	client *control.Client
	answer time.Duration // longest wait for one answer
	late   int           // number of questions that were not answered in time
}

// get returns the answer to a question.
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
		text, err = io.ReadAll(io.LimitReader(in, maxAnswer+1))
		if len(text) > maxAnswer {
			err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
		}
		_ = in.Close() // an error does not matter, because the text has been read
	}
	if err != nil && limited.Err() != nil {
		a.late++
		return nil, errors.New("no answer in time")
	}
	return text, err
}

// daemon adds the daemon's answers to all questions, and what the system knows of its process.
func (r *Report) daemon(ctx context.Context, o *Options) {
	a := &asker{client: control.NewClient(o.Socket), answer: o.Answer}
	r.process(o.Socket)
	r.learnKeys(ctx, a, o.Config)
	for _, path := range r.questions(ctx, a) {
		text, err := a.get(ctx, func(ctx context.Context) (io.ReadCloser, error) { return a.client.Answer(ctx, path) })
		r.answered("daemon/"+fileOf(path), text, err)
		if err == nil && path == "/v1/status" {
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

// answered adds an answer of the daemon, or the reason why there is none. Metrics are added as text.
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

// learnKeys learns the keys of the daemon, so that they are taken out wherever they occur. The daemon says
// which files have them. If it does not answer, learnKeys reads the configuration at path instead, and adds
// it to the report. Keys that cannot be learned are listed as missing in the index.
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
		r.clean.setting(v.Key, v.Value)
		if v.Next != nil {
			r.clean.setting(v.Key, *v.Next)
		}
		if config.RunsProgram(v.Key) && strings.HasSuffix(v.Value, ", "+config.NoArguments+"]") {
			r.lacks("arguments of "+v.Key, "this user may not see them, so other files may have them")
		}
		if v.Value != "" && namesSecrets(v.Key) {
			files = append(files, r.besides(v.From, v.Value))
		}
	}
	r.learnFiles(files)
}

// learnFiles learns the keys in files. The daemon names them and is not trusted, so only the first maxKeyFiles
// are read.
func (r *Report) learnFiles(files []string) {
	slices.Sort(files)
	for i, f := range slices.Compact(files) {
		if i >= maxKeyFiles {
			r.lacks("keys of "+f, "too many files of keys, so other files may have them")
			continue
		}
		text, err := readKeys(f)
		if err != nil {
			r.lacks("keys of "+f, err.Error()+", so other files may have them")
			continue
		}
		r.clean.file(text)
	}
}

// besides returns the path of a file whose name path stands in the configuration at the position line, such as
// lnetd.yaml:3. A relative path counts from the folder of the file in line. If the result is relative, it counts
// from the daemon's directory.
func (r *Report) besides(line, path string) string {
	if file, _, ok := strings.Cut(line, ":"); ok && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	return path
}

// offline reads the configuration file of a daemon that does not answer, and adds its values to the
// report. It leaves out the texts of errors in that file, because they quote values.
func (r *Report) offline(path string) []config.Value {
	const name = "config-file.json"
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
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
