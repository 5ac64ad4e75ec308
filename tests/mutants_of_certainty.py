"""The mutants of what says how sure we are."""

from tests.mutant import mutants_of

MUTANTS = [
    *mutants_of(
        "inference/after/calibration.py",
        (
            "gain.sum() > -np.sqrt(noise @ noise)",
            "gain.sum() > 0",
            "test_cross_fit.py::test_an_epoch_is_as_good_as_the_best_within_the_noise_of_its_labels",
        ),
        (
            "np.unique(together, return_inverse=True)[1]",
            "np.arange(len(gain))",
            "test_cross_fit.py::test_an_epoch_is_as_good_as_the_best_within_the_noise_of_its_labels",
        ),
        (
            "best[:n_columns] - steepness * level",
            "best[:n_columns]",
            "test_cross_fit.py::test_predictors_that_are_too_bold_are_drawn_in",
        ),
        (
            "covariates.var(axis=0) + prior.own / total, 1.0)",
            "1.0, 1.0)",
            "test_pooling.py::test_calibrations_find_the_coefficients_of_levels",
        ),
        (
            "problem.dispersion_at_mean(there, doubt)",
            "problem.dispersion_at_mean(there)",
            "test_pooling.py::test_the_noise_counts_what_is_not_known_of_levels",
        ),
        (
            "replace(prior or CoefPrior(), n_level=0)",
            "prior or CoefPrior()",
            "test_pooling.py::test_calibrations_find_the_coefficients_of_levels",
        ),
    ),
    *mutants_of(
        "fitted/pooling.py",
        (
            "shrunk = 1.0 + n / strength",
            "shrunk = 1.0 + 0.0 * n",
            "test_pooling.py::test_levels_are_those_of_the_normal_equations",
        ),
        (
            "np.sqrt(noise.mean() / strength)",
            "np.sqrt(1.0 / strength)",
            "test_pooling.py::test_the_deviation_is_that_under_which_folds_are_told_best",
        ),
        (
            "np.where(n > 0, level + (total - n * level) / (n + strength), np.nan)",
            "level + (total - n * level) / (n + strength)",
            "test_pooling.py::test_a_category_that_new_groups_do_not_have_has_no_part",
        ),
    ),
    *mutants_of(
        "fitted/certainty/topic_errors.py",
        (
            "jackknife = (n_folds - 1) * moved.var(axis=0)",
            "jackknife = moved.var(axis=0)",
            "test_topic_errors.py::test_coefficients_that_move_further_than_their_errors_widen_them",
        ),
        (
            "freedom < 3 or 2 * n_again < len(again)",
            "freedom < 3",
            "test_topic_errors.py::test_less_than_half_of_the_topics_say_nothing",
        ),
    ),
    *mutants_of(
        "fitted/certainty/honest.py",
        (
            "rest = training.rows(np.intersect1d(splits[one.number].rest, hidden))",
            "rest = training.rows(splits[one.number].rest)",
            "test_topic_errors.py::test_sample_splitting_has_the_errors_of_its_topics",
        ),
        (
            "fold_fits(topics, training, seen, seed",
            "fold_fits(topics, training, splits, seed",
            "test_topic_errors.py::test_sample_splitting_has_the_errors_of_its_topics",
        ),
    ),
    *mutants_of(
        "fitted/certainty/folds.py",
        (
            "unit[:, None] * state.coef[:, order]",
            "unit[:, None] * state.coef[:, : len(order)]",
            "test_topic_errors.py::test_the_folds_fits_are_matched_and_in_the_units_of_the_whole",
        ),
        (
            "training.rows(splits[number].rest)",
            "training",
            "test_cross_fit.py::test_a_fold_is_predicted_by_a_fit_without_its_documents",
        ),
    ),
    *mutants_of(
        "fitted/certainty/cross_fit.py",
        (
            "own = Calibration(*units(response, one.fit.state.dispersion, dispersion), dispersion)",
            "own = Calibration(np.zeros(score.shape[1]), np.ones(score.shape[1]), dispersion)",
            "test_cross_fit.py::test_grades_of_folds_in_the_units_of_the_whole",
        ),
    ),
    *mutants_of(
        "fitted/certainty/cross_fit.py",
        (
            "topics + line.intercept[:, None], line.beside",
            "topics + line.intercept[:, None], line.slope[:, None] * state.coef[:, fitted.n_topics :]",
            "test_cross_fit.py::test_a_covariate_keeps_its_effect_beside_topics",
        ),
        (
            "np.zeros_like(training.covariates[one.out])",
            "training.covariates[one.out]",
            "test_cross_fit.py::test_a_covariate_keeps_its_effect_beside_topics",
        ),
    ),
    *mutants_of(
        "fitted/fitted.py",
        (
            "coef[:, :, n_topics:] = beside",
            "coef[:, :, n_topics:] *= factor",
            "test_cross_fit.py::test_a_covariate_keeps_its_effect_beside_topics",
        ),
    ),
    *mutants_of(
        "inference/after/class_sets.py",
        (
            " + _TIE / np.sqrt(len(found))",
            "",
            "test_class_sets.py::test_sets_hold_their_promise_where_topics_tell_nothing",
        ),
    ),
    *mutants_of(
        "inference/after/sandwich.py",
        (
            "slope / np.maximum(1.0 - leverage, _LEAST_LEFT)",
            "slope",
            "test_sandwich.py::test_errors_of_least_squares_are_those_of_statsmodels",
        ),
        (
            "(len(moved) - 1) / len(moved) * (moved.T @ moved)",
            "moved.T @ moved",
            "test_sandwich.py::test_the_jackknife_leaves_out_each_group_in_turn",
        ),
        (
            "rest = whole - (columns[own] * curvature[own, None]).T @ columns[own]",
            "rest = whole",
            "test_sandwich.py::test_the_jackknife_leaves_out_each_group_in_turn",
        ),
    ),
    *mutants_of(
        "fitted/effects.py",
        (
            "coef[:, :n_topics] = own + level[:, None]",
            "coef[:, :n_topics] = own",
            "test_found_again.py::test_effects_have_the_spread_of_what_other_fits_predict",
        ),
    ),
    *mutants_of(
        "inference/after/class_sets.py",
        (
            "own = [codes == c for c in range(chances.shape[1])]",
            "own = [codes >= 0 for c in range(chances.shape[1])]",
            "test_class_sets.py::test_sets_by_class_by_hand",
        ),
    ),
    *mutants_of(
        "fitted/seen.py",
        (
            "frequent[order[: int(np.searchsorted(total, _HALF * total[-1])) + 1]] = True",
            "frequent[order[: int(np.searchsorted(total, _HALF * total[-1]))]] = True",
            "test_check.py::test_what_is_kept_by_hand",
        ),
    ),
    *mutants_of(
        "inference/gibbs/chains.py",
        (
            "for one in (halves, apart)",
            "for one in (halves, halves)",
            "test_sstm.py::test_ranks_see_chains_that_differ_in_spread_only",
        ),
    ),
    *mutants_of(
        "fitted/refits.py",
        (
            "seed + 1 + number",
            "seed",
            "test_found_again.py::test_refits_draw_documents_again_and_take_other_seeds",
        ),
    ),
    *mutants_of(
        "inference/after/splits.py",
        (
            "np.argmin(filled @ table[one])",
            "np.argmin(filled.sum(axis=1))",
            "test_splits.py::test_groups_of_classes_are_spread_over_the_parts",
        ),
        (
            "cuts = np.unique(cuts[cuts > own[0]])",
            "cuts = np.unique(cuts)",
            "test_splits.py::test_rows_of_one_time_and_without_labels_have_their_place_in_time",
        ),
    ),
    *mutants_of(
        "fitted/certainty/robust.py",
        (
            "hc3(*given) if own is None else jackknife(*given, own)",
            "hc3(*given)",
            "test_sandwich.py::test_labels_of_groups_have_errors_by_groups",
        ),
        (
            "slope - curvature * np.where(response.is_product, moment, score)",
            "slope",
            "test_sandwich.py::test_sample_splitting_has_errors_of_no_law",
        ),
        (
            "moved -= moved.mean(axis=1, keepdims=True)",
            "pass",
            "test_sandwich.py::test_classes_of_groups_are_those_of_statsmodels",
        ),
    ),
    *mutants_of(
        "fitted/training.py",
        (
            'vars(found)["belonging"] = None if self.belonging is None else self.belonging[rows]',
            'vars(found)["belonging"] = None',
            "test_groups.py::test_documents_held_out_are_of_other_groups",
        ),
        (
            "return None if alone else Belonging(together, moment, in_groups=False)",
            "return None if moment is None else Belonging(together, moment, in_groups=False)",
            "test_groups.py::test_near_duplicates_are_in_one_fold_unasked",
        ),
        (
            "self.covariates, known, self._said)",
            "self.covariates, known, self.belonging)",
            "test_groups.py::test_training_takes_near_duplicates_as_they_come",
        ),
    ),
    *mutants_of(
        "inference/after/splits.py",
        (
            "return rows[order], part[order]",
            "return rows[order], part",
            "test_out_of_fold.py::test_predictions_are_those_of_the_fit_without_the_fold",
        ),
    ),
    *mutants_of(
        "responses/interval_scale.py",
        (
            "levels_at(distances(np.array(level)) * scale.of(features_of(score, lengths)))",
            "np.full(len(score), level)",
            "test_interval_scale.py::test_intervals_of_a_fit_are_wider_where_noise_is",
        ),
    ),
    *mutants_of(
        "fitted/certainty/levels.py",
        (
            "condense(own) if groups is None else levels_by_group(own, groups)",
            "condense(own)",
            "test_groups.py::test_intervals_hold_documents_of_new_groups",
        ),
    ),
    *mutants_of(
        "inference/after/group_levels.py",
        (
            "1.0 / ((n_groups + 1) * size[code[order]])",
            "1.0 / (n_groups * size[code[order]])",
            "test_group_levels.py::test_a_large_group_weighs_as_much_as_a_small_one",
        ),
        (
            "1.0 / ((n_groups + 1) * size[code[order]])",
            "np.full(len(order), n_groups / ((n_groups + 1) * len(order)))",
            "test_group_levels.py::test_a_large_group_weighs_as_much_as_a_small_one",
        ),
    ),
    *mutants_of(
        "responses/interval_scale.py",
        (
            "levels_at(distances(np.array(level)) * scale.of(features_of(score, lengths)))",
            "np.full(len(score), level)",
            "test_interval_scale.py::test_intervals_of_a_fit_are_wider_where_noise_is",
        ),
        (
            "- basis @ values)[:, None]",
            ")[:, None]",
            "test_interval_scale.py::test_the_scale_is_found",
        ),
    ),
    *mutants_of(
        "fitted/certainty/levels.py",
        (
            "(found if scale.is_one else levels_at(over))",
            "found",
            "test_interval_scale.py::test_intervals_of_a_fit_are_wider_where_noise_is",
        ),
    ),
    *mutants_of(
        "responses/interval_levels.py",
        (
            "(len(found) + 1) * probability",
            "len(found) * probability",
            "test_cross_fit.py::test_the_level_has_the_rank_that_a_guarantee_asks_for",
        ),
        (
            "return np.where(stretch > 1.0, stretch, high)",
            "return high",
            "test_cross_fit.py::test_intervals_hold_labels_that_the_response_does_not_expect",
        ),
        (
            "np.maximum(high - middle, response.grain)",
            "high - middle",
            "test_cross_fit.py::test_intervals_are_wider_at_a_higher_level",
        ),
    ),
    *mutants_of(
        "inference/after/calibration.py",
        (
            "np.array([rest.sum(), rest @ off])",
            "np.array([rest.sum(), rest @ score[:, 0]])",
            "test_cross_fit.py::test_means_have_slope_one_under_another_law",
        ),
        (
            "if not abs(beyond) > error:",
            "if beyond == 0:",
            "test_cross_fit.py::test_means_of_labels_far_out_do_not_turn_the_slope_over",
        ),
    ),
    *mutants_of(
        "fitted/certainty/cross_fit.py",
        (
            "if not covariates.shape[1] or len(numbers) < 2:",
            "if True:",
            "test_cross_fit.py::test_covariates_of_many_columns_do_not_know_the_labels_that_they_are_measured_on",
        ),
    ),
    *mutants_of(
        "fitted/certainty/softmax_heat.py",
        (
            "np.array([0, 2, 3])",
            "0.0",
            "test_softmax_heat.py::test_what_is_right_stays_as_it_is_and_an_earlier_fit_is_forgotten",
        ),
    ),
    *mutants_of(
        "documents/duplicates.py",
        (
            "* np.uint64(0x9E3779B97F4A7C15) ^ amount",
            "^ amount",
            "test_tempering.py::test_words_have_their_own_hash_in_any_order",
        ),
        (" ^ amount", "", "test_tempering.py::test_words_have_their_own_hash_in_any_order"),
    ),
    *mutants_of(
        "fitted/certainty/tempering.py",
        ("& (beside.weights > 0)", "", "test_tempering.py::test_a_weight_is_a_document_as_often"),
        ("backend.all, counted[told])", "backend.all)", "test_tempering.py::test_a_weight_is_a_document_as_often"),
    ),
    *mutants_of(
        "responses/temperature.py",
        (
            "slope**2 * variance",
            "slope * variance",
            "test_cross_fit.py::test_moments_of_a_calibrated_predictor",
        ),
        (
            "intercept = zero * (1.0 - slope)",
            "intercept = 0.0 * zero * slope",
            "test_softmax_heat.py::test_topics_that_say_nothing_leave_the_shares_of_the_classes",
        ),
        (
            "(leading - _softmax(_SHARP * zero))",
            "leading",
            "test_softmax_heat.py::test_topics_that_say_nothing_leave_the_shares_of_the_classes",
        ),
        (
            "slope = counted * (mean",
            "slope = (mean",
            "test_tempering.py::test_slopes_of_the_likelihood_are_those_of_differences",
        ),
        (
            "evidence.log_words / self.heat(evidence.spread)[:, None]",
            "evidence.log_words",
            "test_tempering.py::test_temperature_of_evidence_that_is_too_strong",
        ),
        (
            "weight * evidence.log_shares",
            "evidence.log_shares",
            "test_tempering.py::test_temperature_of_evidence_that_is_too_strong",
        ),
        (
            "np.where(tells, self.weight, 1.0)",
            "np.full(len(tells), self.weight)",
            "test_tempering.py::test_a_document_without_words_keeps_the_class_shares",
        ),
        (
            "counted * (mean - evidence.log_words[own])",
            "counted * (evidence.log_words[own] - mean)",
            "test_tempering.py::test_slopes_of_the_likelihood_are_those_of_differences",
        ),
    ),
    *mutants_of(
        "inference/after/share_regression.py",
        (
            "within + (1.0 + 1.0 / n) * (apart.T @ apart)",
            "within + (apart.T @ apart)",
            "test_share_regression.py::test_draws_are_pooled_by_rubins_rule",
        ),
        (
            "(1.0 + 1.0 / n) * (apart**2 * used[:, None]).sum(axis=0) / n",
            "(apart**2 * used[:, None]).sum(axis=0) / n",
            "test_share_regression.py::test_refits_that_have_the_topic_widen_its_interval",
        ),
        (
            "one.covariance(weights * share)",
            "one.covariance(weights) / 4",
            "test_share_regression.py::test_halves_count_where_they_have_the_topic",
        ),
        (
            "total = scores if member is None else member @ scores",
            "total = scores",
            "test_share_regression.py::test_permutations_are_the_naive_ones",
        ),
        (
            "rest = x @ null_space(row[None])",
            "rest = np.delete(x, place % x.shape[1], axis=1)",
            "test_share_regression.py::test_permutations_are_the_naive_ones",
        ),
    ),
    *mutants_of(
        "inference/after/free_shares.py",
        (
            "out=np.zeros_like(topics), where=mean > 0)",
            "out=np.zeros_like(topics), where=mean > 0) * mean",
            "test_share_regression.py::test_free_shares_are_weighted_least_squares",
        ),
    ),
    *mutants_of(
        "fitted/metadata_effects.py",
        (
            "shares[:, order], groups)",
            "shares, groups)",
            "test_topic_effects.py::test_the_topics_of_another_fit_are_put_in_order",
        ),
        (
            "question.of(places), order)",
            "question, order)",
            "test_topic_effects.py::test_halves_regress_documents_that_their_topics_have_not_seen",
        ),
    ),
]
