package main

import (
	"io"
	"log/slog"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

// jsonFailure is the error that ends a daemon whose log has format json: it is shown as a line of
// that log.
type jsonFailure struct{ error }

// Unwrap returns the error.
func (f jsonFailure) Unwrap() error { return f.error }

// Show implements cli.Shown.
func (f jsonFailure) Show(_, stderr io.Writer) {
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	log.Error(f.Error(), slog.String("hint", cli.HintOf(f.error)))
}

// ExitCode implements cli.Shown.
func (f jsonFailure) ExitCode() int { return cli.ExitCode(f.error) }

// failure returns the error that ends a daemon in the form that its configuration asks for.
func failure(err error, cfg *config.Config) error {
	if err == nil || cfg.LogFormat != config.LogJSON {
		return err
	}
	return jsonFailure{err}
}
