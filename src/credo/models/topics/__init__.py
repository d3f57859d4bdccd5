"""Topics: what documents are about, from the words that they use together.

`plsa`, `lda`  `PLSA` and `LatentDirichletAllocation`; `base`, what they share
`equations`    the pass over counts and its M-steps as EM sees them; `dirichlet`, the same for variational Bayes
`hyperparameters`  concentrations of Dirichlet priors, learned
`kernels`      the compiled loop; `cells`, counts in the order it reads them, in memory or from a stream
`overview`, `starts`  the first pass, and where EM begins
`folding`      new documents, topics held
`evaluation`   held-out tokens by document completion; coherence
`reading`      top words, nearest topics, nearest documents
"""

from credo.models.topics.evaluation import coherence, completion_score
from credo.models.topics.lda import LatentDirichletAllocation
from credo.models.topics.plsa import PLSA
from credo.models.topics.reading import NearestDocuments, NearestTopics, TopicWords, nearest_documents, top_words

__all__ = [
    "PLSA",
    "LatentDirichletAllocation",
    "TopicWords",
    "NearestTopics",
    "NearestDocuments",
    "completion_score",
    "coherence",
    "top_words",
    "nearest_documents",
]
