package main

import (
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/google/jsonschema-go/jsonschema"
)

// resultSchema is the schema that `errand schema result` prints.
type resultSchema struct{ resolved *jsonschema.Resolved }

// schema is loaded once, before the first run.
var schema resultSchema

func (s *resultSchema) load(errand string) error {
	text, err := exec.Command(errand, "schema", "result").Output()
	if err != nil {
		return fmt.Errorf("errand schema result: %w", err)
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(text, &parsed); err != nil {
		return fmt.Errorf("errand schema result: %w", err)
	}
	s.resolved, err = parsed.Resolve(nil)
	return err
}

func (s *resultSchema) validate(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return s.resolved.Validate(value)
}
