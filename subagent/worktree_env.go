package subagent

import "context"

// gitVariables are those that say where git's repository is and what belongs to it, as git
// rev-parse --local-env-vars has them: a hook has them, and what runs in it. They would
// lead the git of an agent to that repository.
var gitVariables = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
	"GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_INTERNAL_SUPER_PREFIX",
}

// dropped are the variables that an agent started with ctx must not inherit, for only its
// provider makes its environment.
func dropped(ctx context.Context) []string {
	if !inWorktree(ctx) {
		return nil
	}
	return gitVariables
}
