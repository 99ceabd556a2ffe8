package tools

func k8sSpecSetTool() Tool { return k8sSetTool("k8s-spec-set", k8sPodSpec) }
