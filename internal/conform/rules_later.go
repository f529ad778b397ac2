package conform

var authRules, sessionRules, wireRules, processRules []Rule
