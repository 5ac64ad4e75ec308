"""Mutants (`tests.mutants`) of inference, estimators and files."""

from tests.mutant import mutants_of

_EFFECTS = "test_effects_of_models.py::"
_EMBEDDINGS = "test_embeddings.py::"
_GUIDE = "test_prediction_guide.py::"
_BESIDE = "test_words_beside.py::"
_SUPERVISED = "test_supervised_gibbs.py::"
_DRAWS = "test_draws.py::"
_REGRESSION = "test_regression.py::"
_FILES = "test_crafted_files.py::"
_INPUT = "test_invalid_input.py::"
_JOINT = "test_samplers.py::test_sweeps_keep_the_joint_distribution"
_COUNTS = "test_counts.py::"
_PRIORS = "test_default_priors.py::"
_AGREED = "test_agreed_topics.py::"
_AS_A_DOCUMENT = "test_alpha_of_a_softmax_is_as_much_as_a_document_but_25_at_most"
_FEW = "test_documents_of_other_responses_are_about_few_topics"
_SHARED = "test_topics_that_few_documents_tell_share_them"
_CHECKS = "test_file_checks.py::test_arrays_that_do_not_fit_are_refused"
_FITTED = "test_golden_fits.py::test_a_new_fit_gives_the_same_numbers"

MUTANTS = [
    *mutants_of(
        "documents/embeddings.py",
        (
            "found[fold == number] = centred[fold == number] @ coef.T",
            "pass",
            _EMBEDDINGS + "test_numbers_are_ridge_regressions_on_other_folds",
        ),
        (
            "heavy = embeddings * weight[:, None]",
            "heavy = embeddings",
            _EMBEDDINGS + "test_numbers_are_ridge_regressions_on_other_folds",
        ),
        (
            "(whole - own).path(scaled)",
            "whole.path(scaled)",
            _EMBEDDINGS + "test_labels_say_nothing_of_their_own_number",
        ),
    ),
    *mutants_of(
        "fitted/fit.py",
        ("covariates[:, block] = 0.0", "pass", _EMBEDDINGS + "test_topics_do_not_see_them"),
    ),
    *mutants_of(
        "documents/covariates.py",
        (
            "about = numbers - self._zero[places]",
            "about = numbers",
            "test_beside.py::test_a_survey_of_batches_is_that_of_all_documents",
        ),
    ),
    *mutants_of(
        "fitted/effects.py",
        ("score, moment = heated(fitted, score, moment)", "pass", _EFFECTS + "test_heat_draws_effects_in"),
        (
            "unit[:, 1 + n_topics :] *= ",
            "_ = ",
            _EFFECTS + "test_covariates_have_effects_between_values_that_documents_have",
        ),
        ("level / unit[:, None]", "0 * level", _EFFECTS + "test_a_posterior_of_classes_keeps_its_level"),
        ("found *= 100.0 / np", "found *= 1.0 / np", _EFFECTS + "test_a_posterior_of_classes_keeps_its_level"),
        (
            "(mean @ grades_of(target.classes))",
            "mean.argmax(axis=1)",
            _EFFECTS + "test_effects_are_those_of_moving_shares_by_hand",
        ),
        ("end + scaling.mean", "end", _EFFECTS + "test_covariates_have_effects_between_values_that_documents_have"),
    ),
    *mutants_of(
        "inference/after/words.py",
        (
            "np.sqrt(np.maximum(lengths_of(squares), 1e-300))",
            "np.maximum(lengths_of(squares), 1e-300)",
            "test_regression_slopes.py::test_word_features_are_tf_idf_rows_of_length_one_and_of_an_empty_document_zero",
        ),
        (
            "data += 1.0",
            "pass",
            "test_regression_slopes.py::test_word_features_are_tf_idf_rows_of_length_one_and_of_an_empty_document_zero",
        ),
    ),
    *mutants_of(
        "inference/design.py",
        ("+ variance / self.lengths[:, None]", "", _REGRESSION + "test_moments_of_the_mean_of_a_few_draws"),
        (
            "gram[c][diagonal, diagonal] += (weight / self.lengths) @ shares",
            "pass",
            "test_slda.py::test_normal_equations_equal_enumeration",
        ),
        (
            "(own * score).T @ self.mean - topics * (own.T @ self.mean)",
            "(own * score).T @ self.mean",
            "test_regression_slopes.py::test_gradient_is_the_slope_of_the_value",
        ),
        (
            "if weight.min(initial=0.0) < 0:",
            "if False:",
            "test_coefficients.py::test_gram_of_weighted_columns_is_as_written_down",
        ),
    ),
    *mutants_of(
        "inference/task.py",
        (
            "for seen in (trace, trace[:-1])",
            "for seen in (trace,)",
            "test_engines.py::test_em_ends_after_two_steps_without_a_gain",
        ),
    ),
    *mutants_of(
        "responses/continuous.py",
        (
            "np.log(y + floor)",
            "np.log(y)",
            _GUIDE + "test_the_floor_of_logarithms_is_a_part_of_the_mean_of_labels_that_count",
        ),
    ),
    *mutants_of(
        "responses/positive.py",
        ("_FLOOR * mean", "_FLOOR", _GUIDE + "test_the_floor_of_logarithms_is_a_part_of_the_mean_of_labels_that_count"),
    ),
    *mutants_of(
        "inference/after/likelihood_words.py",
        (
            ">= self.value:",
            ">= -np.inf:",
            "test_regression_slopes.py::test_a_turn_that_leads_down_is_shortened",
        ),
    ),
    *mutants_of(
        "responses/choice.py",
        (
            "return bool(skewness > 0.5",
            "return bool(skewness > -0.5",
            "test_auto_response.py::test_whole_numbers_that_lean_to_the_right_are_counts_and_others_are_not",
        ),
    ),
    *mutants_of(
        "inference/regression.py",
        ("cov[c, c] - across[c] - across[c].T + mean", "cov[c, c]", _REGRESSION + "test_errors_of_softmax_contrasts"),
        (
            "found[1:] + prior.gradient(there).ravel()",
            "found[1:]",
            "test_regression_slopes.py::test_many_classes_climb_to_where_they_solve_by_turns",
        ),
    ),
    *mutants_of("priors/dirichlet.py", ("stats[:-1] / stats[-1]", "stats[:-1]", _FITTED + "[lda-vb]")),
    *mutants_of(
        "inference/variational/step.py",
        ("state.alpha + scale * stats.prior", "state.alpha + stats.prior", _FITTED + "[mixture-svi]"),
        (
            "+ model.coef_prior.log_density(state.coef)",
            "",
            "test_slda.py::test_the_bound_has_the_prior_of_coefficients",
        ),
    ),
    *mutants_of(
        "inference/variational/m_step_glm.py",
        (
            "(1.0 - rate) * before.gram + rate * scale * stats.gram",
            "before.gram + rate * scale * stats.gram",
            _FITTED + "[slda-gaussian-svi]",
        ),
    ),
    *mutants_of(
        "inference/variational/prediction_local.py",
        (
            "adjoint += np.float32(scales.word)",
            "pass",
            "test_prediction_constrained.py::test_gradient_is_that_of_differences_of_the_whole_objective",
        ),
        (
            "pull = slope - curvature * np.where(response.is_product, moment, score)",
            "pull = slope",
            "test_prediction_constrained.py::test_gradient_is_that_of_differences_of_the_whole_objective",
        ),
    ),
    *mutants_of(
        "inference/variational/prediction_constrained.py",
        (
            "state, self.state = self.keep_dispersion(state, own), self.keep_dispersion(self.state, own)",
            "pass",
            "test_prediction_constrained.py::test_the_trace_ends_at_the_best_epoch_and_dispersion_is_honest",
        ),
    ),
    *mutants_of(
        "inference/gibbs/supervised.py",
        (
            "RATE_PRIOR[1] + np.abs(self.coef).sum()",
            "RATE_PRIOR[1]",
            _SUPERVISED + "test_sweeps_of_sparse_models_keep_the_joint_distribution[1500-gaussian]",
        ),
        (
            "self._sweep_quadratic(slope - curvature * offset,",
            "self._sweep_quadratic(slope,",
            _JOINT + "[gaussian laplace]",
        ),
        (
            "cross = columns.T @ (slope[:, c] - weight) + gram @ coef",
            "cross = columns.T @ (slope[:, c] - weight)",
            _SUPERVISED + "test_normal_equations_of_a_product_column_are_newtons",
        ),
    ),
    *mutants_of(
        "inference/gibbs/coefficients.py",
        (
            "0.5 * (np.log(prior / left) + pull**2 / left)",
            "0.5 * pull**2 / left",
            _SUPERVISED + "test_the_support_follows_its_enumerated_posterior",
        ),
        (
            "solve_triangular(root, linear, lower=True, check_finite=False) + normal",
            "solve_triangular(root, linear, lower=True, check_finite=False) + 2 * normal",
            _DRAWS + "test_coefficients_have_the_posterior_mean_and_covariance",
        ),
        (
            "density + tail * np.log1p",
            "density + 0.0 * np.log1p",
            _SUPERVISED + "test_log_linear_coefficients_follow_their_posterior",
        ),
    ),
    *mutants_of(
        "fitted/finish.py",
        (
            "joined.unseen - weight * given.score, weight",
            "joined.unseen, weight",
            _BESIDE + "test_intervals_come_from_documents_that_neither_topics_nor_words_have_seen",
        ),
        ("unseen.score - others, others,", "unseen.score, others,", _BESIDE + "test_covariates_keep_their_part"),
        (
            "        if unseen is not None:\n            return documents\n",
            "",
            _BESIDE + "test_cross_fitted_documents_are_their_own_pilot",
        ),
    ),
    *mutants_of(
        "inference/ridge.py",
        (
            "(own.times(coef) - mean @ coef)",
            "own.times(coef)",
            _GUIDE + "test_a_regression_on_some_rows_is_the_slow_one",
        ),
        ("level - float(mean @ coef)", "level", _GUIDE + "test_a_regression_on_some_rows_is_the_slow_one"),
    ),
    *mutants_of(
        "inference/variational/prediction_guide.py",
        (
            "np.flatnonzero(self.parts != part)",
            "np.flatnonzero(self.parts >= 0)",
            _GUIDE + "test_estimates_are_those_of_the_best_slow_regressions",
        ),
        (
            "for step in (1, -1) if known",
            "for step in (1,) if known",
            _GUIDE + "test_estimates_are_those_of_the_best_slow_regressions",
        ),
        (
            "(batch.weight > 0)[:, None] & ~np.isnan(_columns(batch.y))",
            "~np.isnan(_columns(batch.y))",
            _GUIDE + "test_a_label_that_is_missing_or_weighs_nothing_stays_out",
        ),
        (
            "_OWN * judged[:, column] + ",
            "",
            _GUIDE + "test_documents_held_out_are_judged_by_half_and_have_no_say",
        ),
        (", sp.csr_matrix(batch.covariates)]", "]", _GUIDE + "test_covariates_are_in_the_estimates"),
        ("if found.skill < _LEAST_SKILL:", "if False:", _GUIDE + "test_noise_stays_as_it_is"),
        (
            "model.predict(self.features).clip(*self.ends)",
            "model.predict(self.features)",
            _GUIDE + "test_probabilities_stay_between_the_classes",
        ),
    ),
    *mutants_of(
        "inference/regression.py",
        (
            "step @ gram @ step - 2.0 * (rest @ step)",
            "step @ gram @ step - (rest @ step)",
            "test_regression.py::test_a_gaussian_asks_the_documents_once",
        ),
    ),
    *mutants_of(
        "inference/after/prediction.py",
        (
            "np.maximum(shares[some] * longer[some, None] - inverse[some, None] * own, 0.0)",
            "shares[some] * longer[some, None]",
            "test_slda_estimators.py::test_training_documents_are_inferred_once_after_a_fit",
        ),
    ),
    *mutants_of(
        "responses/classes.py",
        (
            "return Gaussian(), np.where(np.isnan(y), np.nan, at_low - at_high)",
            "return Gaussian(), np.where(np.isnan(y), np.nan, at_high - at_low)",
            _GUIDE + "test_ordered_classes_and_numbers_from_zero_on_are_trained_as_something_else",
        ),
    ),
    *mutants_of(
        "inference/variational/prediction_constrained.py",
        (
            "return replace(found, state=_of_labels(task, train, held, found))",
            "return found",
            _GUIDE + "test_coefficients_and_noise_are_those_of_the_labels",
        ),
        (
            "share, generator = task.settings.validation_fraction, np",
            "share, generator = 0.0 if task.settings.best_epoch else task.settings.validation_fraction, np",
            "test_cross_fit.py::test_a_fit_that_knows_its_best_epoch_trains_like_the_one_that_found_it",
        ),
    ),
    *mutants_of(
        "inference/variational/prediction_constrained.py",
        (
            "SETTINGS.rate * stride, task.settings.max_iter / stride",
            "SETTINGS.rate * stride, task.settings.max_iter",
            "test_cross_fit.py::test_longer_steps_come_as_far_in_fewer_epochs",
        ),
    ),
    *mutants_of(
        "fitted/certainty/honest.py",
        (
            "return training.rows(np.flatnonzero(~set_aside(training, self.share, seed)))",
            "return training",
            "test_honest.py::test_the_topics_do_not_see_the_labels_set_aside",
        ),
        (
            "return training.rows(np.flatnonzero(~set_aside(training, self.share, seed)))",
            "return training.without_labels(set_aside(training, self.share, seed))",
            "test_honest.py::test_predictions_of_new_documents_are_as_bold_as_those_of_documents_set_aside",
        ),
    ),
    *mutants_of(
        "fitted/predict.py",
        (
            "*heated(fitted, found.score, found.moment), fitted.state.dispersion)",
            "found.score, found.moment, fitted.state.dispersion)",
            "test_softmax_heat.py::test_probabilities_densities_and_files_have_it",
        ),
    ),
    *mutants_of(
        "fitted/checks.py",
        ("if spec.finite and not (low >= -spec.most and high <= spec.most):", "if False:", _CHECKS),
        ("if low < spec.least:", "if False:", _CHECKS),
        ("if array.ndim != len(expected) or any(", "if False and any(", _CHECKS),
        ("if spec.sums and np.abs", "if False and np.abs", _CHECKS),
    ),
    *mutants_of(
        "documents/word_patterns.py",
        (", timeout=_SECONDS + _SECONDS_PER_CHARACTER * len(text)", "", "test_word_patterns.py::test_time_is_bounded"),
    ),
    *mutants_of(
        "persistence.py",
        (
            'if strings["checksum"] != _checksum(strings["manifest"], found):',
            "if False:",
            "test_persistence.py::test_random_damage_loads_the_same_or_is_noticed",
        ),
    ),
    *mutants_of(
        "checkpoint.py",
        (
            "        if differences:\n",
            "        if False:\n",
            "test_checkpoint.py::test_another_fit_is_refused_with_what_differs",
        ),
    ),
    *mutants_of(
        "documents/corpus.py",
        ("indices.max() >= size):", "indices.max() > size):", _INPUT + "test_broken_matrices_are_refused_everywhere"),
        (
            "(data.min() >= 0 and data.max() <= LARGEST_COUNT)",
            "(data.min() >= 0)",
            _INPUT + "test_counts_that_are_too_large_are_refused_everywhere",
        ),
    ),
    *mutants_of(
        "inference/repeats.py",
        (
            "np.sum(1.0 - mean[seldom] / np.expm1(mean[seldom]))",
            "np.sum(mean[seldom] / np.expm1(mean[seldom]))",
            _COUNTS + "test_repeats_are_those_of_the_naive_form",
        ),
        ("again = expected = _AT_FIRST", "again = expected = 1e-9", _COUNTS + "test_a_few_repeats_may_be_chance"),
    ),
    *mutants_of(
        "inference/after/prediction.py",
        (
            "(replace(self, log_counts=False), log_counts(counts))",
            "(self, log_counts(counts))",
            _COUNTS + "test_logarithms_are_as_if_the_user_had_taken_them",
        ),
        (
            "counts = logarithms(counts) if point.log_counts else counts",
            "counts = counts + 0.0",
            _COUNTS + "test_what_words_add_to_shares_sums_to_them",
        ),
    ),
    *mutants_of(
        "estimators/shared/counts.py",
        (" or not corpus.is_integer", "", _COUNTS + "test_weights_of_words_stay_as_they_are"),
    ),
    *mutants_of(
        "fitted/files.py",
        ('counts=found["counts"],', "", _COUNTS + "test_model_files_keep_what_topics_saw"),
    ),
    *mutants_of(
        "fitted/spec.py",
        (
            "(n_documents or len(corpus))",
            "len(corpus)",
            _PRIORS + "test_a_stream_has_the_priors_of_all_its_documents",
        ),
    ),
    *mutants_of(
        "inference/first_topics.py",
        (
            "other[:, linear_sum_assignment(cosines, maximize=True)[1]]",
            "other",
            _AGREED + "test_topics_in_another_order_are_the_same_topics",
        ),
        ("cosines, maximize=True", "cosines", _AGREED + "test_topics_in_another_order_are_the_same_topics"),
        ("matched / np.float32(len(topics))", "matched", _AGREED + "test_the_mean_is_of_topics_that_are_alike"),
        (
            "_ROUNDS = 2",
            "_ROUNDS = 0",
            _AGREED + "test_the_mean_is_of_topics_that_are_alike",
        ),
    ),
    *mutants_of(
        "estimators/shared/default_priors.py",
        ("_FEW / max(tokens.per_document, 1.0)", "_FEW_TOTALS[0]", _PRIORS + _FEW),
        ("np.clip(_FEW / max(tokens.per_document, 1.0), *_FEW_TOTALS)", "_FEW / tokens.per_document", _PRIORS + _FEW),
        ("and not _has_softmax(response):", "and True:", _PRIORS + _AS_A_DOCUMENT),
        ("np.clip(tokens.per_document, *_TOTALS)", "_TOTALS[1]", _PRIORS + _AS_A_DOCUMENT),
        ("    return min(_MOST, total / n_topics)", "    return total / n_topics", _PRIORS + _AS_A_DOCUMENT),
        ("min(max(total, few), few * max", "(few * max", _PRIORS + _SHARED),
        ("/ max(tokens.documents, 1.0)) ** 2", "/ max(tokens.documents, 1.0))", _PRIORS + _SHARED),
        ("isinstance(part.response, Softmax)", "False", _PRIORS + "test_a_softmax_keeps_its_topics"),
        (
            "seen * tokens.per_word",
            "tokens.per_word",
            _PRIORS + "test_of_long_documents_topics_are_smoothed_by_200_tokens",
        ),
    ),
    *mutants_of(
        "inference/regression.py",
        (
            "combine(found[0], early.pop(n_added))",
            "early.pop(n_added)",
            _REGRESSION + "test_documents_in_blocks_say_what_all_say_together",
        ),
    ),
    *mutants_of(
        "backends/threads.py",
        ("expected / _WORTH_WAKING", "self.n_threads", "test_threads.py::test_nobody_is_woken_for_little_work"),
        (
            "weakref.finalize(self, _end",
            "(_end",
            "test_threads.py::test_helpers_end_with_their_backend_and_hold_on_to_nothing",
        ),
        ("left.clear()", "pass", "test_threads.py::test_after_an_interruption_nobody_begins_another_call"),
    ),
    *mutants_of(
        "estimators/shared/supervised.py",
        (
            "Tokens.of(corpus, counts, n_documents) if at_mode else None",
            "Tokens.of(corpus, counts, n_documents)",
            _PRIORS + "test_other_engines_keep_theirs",
        ),
    ),
    *mutants_of(
        "inference/settings.py",
        ("**self.defaults}", "}", "test_methods.py::test_defaults_depend_on_the_model"),
        (
            "if value != plain:",
            "if False:",
            "test_methods.py::test_what_a_model_does_not_have_is_refused_in_one_sentence",
        ),
    ),
    *mutants_of(
        "fitted/side_by_side.py",
        (
            "_MOST_ENTRIES // max(n_entries, 1)",
            "_MOST_ENTRIES",
            "test_side_by_side.py::test_large_documents_and_other_backends_have_one_fit_at_a_time",
        ),
    ),
]
